import Logging
import Postgres
import ServiceLifecycle

/// Forgets the answers that were kept for an `Idempotency-Key` when their 24 hours are over.
struct KeptAnswersExpiry: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let interval = Duration.seconds(600)
    private static let batchSize = 10_000

    var description: String { "kept-answers-expiry" }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    while try await forgetSome() == Self.batchSize {}
                } catch {
                    orchestrator.logger.warning("cannot forget kept answers", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: Self.interval)  // throws only when cancelled
            }
        }
    }

    /// - Returns: How many were forgotten.
    func forgetSome() async throws -> Int {
        try await orchestrator.database.execute(
            """
            DELETE FROM idempotency_keys
            WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM idempotency_keys WHERE created_at < now() - interval '24 hours' LIMIT \(Self.batchSize)
            ))
            """
        )
    }
}
