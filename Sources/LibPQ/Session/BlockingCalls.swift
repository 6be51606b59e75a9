import Dispatch
import Synchronization

/// Runs libpq calls that may block, for example on a name server, outside of the threads that run tasks.
enum BlockingCalls {
    private static let queue = DispatchQueue(label: "postgres.connect", attributes: .concurrent)

    /// Returns the result of `body`. If the deadline or a cancellation comes first, it throws an error, and `body`
    /// continues in the background.
    static func run<R: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () throws(LibPQError) -> R
    ) async throws(LibPQError) -> R {
        let race = Race<R>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                race.begin(continuation)
                if Task.isCancelled { race.finish(.failure(LibPQError(.cancelled))) }
                queue.async { race.finish(Result(catching: body)) }
                let rest = max(ContinuousClock.now.duration(to: deadline), .zero)
                queue.asyncAfter(deadline: .now() + rest / .seconds(1)) { race.finish(.failure(LibPQError(.timedOut))) }
            }
        } onCancel: {
            race.finish(.failure(LibPQError(.cancelled)))
        }
        return try result.get()
    }

    /// A continuation that only the first caller resumes.
    private final class Race<R: Sendable>: Sendable {
        private let continuation = Mutex<CheckedContinuation<Result<R, LibPQError>, Never>?>(nil)

        func begin(_ continuation: CheckedContinuation<Result<R, LibPQError>, Never>) {
            self.continuation.withLock { $0 = continuation }
        }

        func finish(_ result: Result<R, LibPQError>) {
            continuation.withLock { $0.take() }?.resume(returning: result)
        }
    }
}
