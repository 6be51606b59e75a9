import APITypes
import Postgres
import ServiceLifecycle
import Store

/// Forgets revocations of signed tickets when no ticket that they concern can still be valid. Every daemon does, some at
/// a time.
struct RevocationExpiry: Service, CustomStringConvertible {
    let store: Store

    private static let interval = Duration.seconds(600)
    private static let batchSize = 10_000

    var description: String { "revocation-expiry" }

    func run() async {
        await repeating("forget old revocations", every: Self.interval, logger: store.logger) {
            while try await forgetSome() == Self.batchSize {}
        }
    }

    /// - Returns: How many were forgotten.
    func forgetSome() async throws -> Int {
        try await store.database.execute(
            """
            DELETE FROM ticket_revocations
            WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM ticket_revocations
                WHERE revoked_before < now() - make_interval(secs => \(TicketKeyRequest.maximumTicketSeconds))
                LIMIT \(Self.batchSize)
            ))
            """
        )
    }
}
