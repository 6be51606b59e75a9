import ServiceLifecycle
import Synchronization

/// Lets load balancers see that a daemon is about to stop while it still takes requests.
///
/// When the surrounding group shuts down gracefully, ``isBegun`` becomes true immediately. The listeners are stopped
/// after a delay and answer normally until then.
final class Drain: Sendable {
    private let begun = Atomic(false)

    var isBegun: Bool { begun.load(ordering: .relaxed) }

    /// Runs the listeners until they have stopped.
    ///
    /// - Throws: The error that ends a listener early, without delay.
    func run(_ listeners: ServiceGroup, stoppingAfter delay: Duration) async throws {
        // Detached, because the listeners would otherwise receive the shutdown directly, without the delay.
        let running = Task.detached { try await listeners.run() }
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await running.value }
                tasks.addTask { [self] in
                    // Both throw only on cancellation. No delay is needed then.
                    try? await gracefulShutdown()
                    begun.store(true, ordering: .relaxed)
                    try? await Task.sleep(for: delay)
                    await listeners.triggerGracefulShutdown()
                }
                // `waitForAll` would also wait for a shutdown that may never come.
                for try await _ in tasks {}
            }
        } onCancel: {
            running.cancel()
        }
    }
}
