import Logging
import ServiceLifecycle

/// Does some work again and again, with a pause after each time, until the daemon stops.
///
/// What fails is told of in the words "cannot `what`", and done again after the pause.
func repeating(
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
                logger.warning("cannot \(what)", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: pause)  // throws only when cancelled
        }
    }
}
