import ServiceLifecycle
import Synchronization

/// Lets load balancers see that a daemon is about to stop while it still takes requests.
///
/// When the group around shuts down gracefully, ``isBegun`` is true at once, and the listeners are told to stop a while
/// later. Until then they answer as ever.
final class Drain: Sendable {
    private let begun = Atomic(false)

    /// Whether the daemon has been told to stop.
    var isBegun: Bool { begun.load(ordering: .relaxed) }

    /// Runs the listeners until they have stopped.
    ///
    /// - Throws: What ends a listener before its time, at once.
    func run(_ listeners: ServiceGroup, stoppingAfter delay: Duration) async throws {
        // Detached: else the listeners would hear of the shutdown by themselves, and at once.
        let running = Task.detached { try await listeners.run() }
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await running.value }
                tasks.addTask { [self] in
                    // Both throw only when cancelled, and then there is nothing to wait for.
                    try? await gracefulShutdown()
                    begun.store(true, ordering: .relaxed)
                    try? await Task.sleep(for: delay)
                    await listeners.triggerGracefulShutdown()
                }
                // Not `waitForAll`, which would wait for a shutdown although there is nothing left to shut down.
                for try await _ in tasks {}
            }
        } onCancel: {
            running.cancel()
        }
    }
}
