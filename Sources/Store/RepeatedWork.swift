package import Logging
import ServiceLifecycle

/// Does some work again and again, with a pause after each time, until the daemon stops.
///
/// What fails is told of in the words "cannot `what`", and done again after the pause.
package func repeating(
    _ what: String,
    every pause: Duration,
    logger: Logger,
    _ work: @escaping @Sendable () async throws -> Void
) async {
    await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
            do {
                try await work()
            } catch {
                logger.failed("cannot \(what)", error)
            }
            try? await Task.sleep(for: pause)  // throws only when cancelled
        }
    }
}

/// Does some work after each signal, until the daemon stops.
///
/// A failure is logged as "cannot `what`". The next signal leads to another try.
package func repeating(
    _ what: String,
    after signals: AsyncStream<Void>,
    logger: Logger,
    _ work: @escaping @Sendable () async throws -> Void
) async {
    await cancelWhenGracefulShutdown {
        for await _ in signals {
            do { try await work() } catch { logger.failed("cannot \(what)", error) }
        }
    }
}

extension Logger {
    /// Tells of work that failed and is done again anyway: a warning; at `debug` where the task was told to end, because
    /// that is what was in the way, and nothing that an operator could mend.
    package func failed(_ message: Logger.Message, _ error: any Error, _ metadata: Logger.Metadata = [:]) {
        let metadata = metadata.merging(["error": "\(error)"]) { $1 }
        log(level: Task.isCancelled ? .debug : .warning, message, metadata: metadata)
    }
}
