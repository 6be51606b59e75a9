import Logging
import Postgres
import ReportTypes
import ServiceLifecycle

/// Forgets rows that have had their time and have no partitions to drop; every daemon does, some at a time.
struct ExpiryDuty: Service, CustomStringConvertible {
    /// What is forgotten.
    enum Rows: String, CaseIterable {
        /// The answers that were kept for an `Idempotency-Key`, when their 24 hours are over.
        case keptAnswers
        /// Who issued tickets. Backends do that for phone after phone: this is kept no longer than events.
        case issuedTickets
        /// What operators did. Backends are among them: they delete devices and erase users.
        case auditEntries
    }

    let store: Store

    private static let interval = Duration.seconds(600)
    private static let batchSize = 10_000

    var description: String { "expiry-duty" }

    func run() async {
        await repeating("forget old rows", every: Self.interval, logger: store.logger) {
            for rows in Rows.allCases { await forget(rows) }
        }
    }

    private func forget(_ rows: Rows) async {
        do {
            while try await forgetSome(rows) == Self.batchSize {}
        } catch {
            store.logger.failed("cannot forget old rows", error, ["rows": "\(rows)"])
        }
    }

    /// - Returns: How many were forgotten.
    func forgetSome(_ rows: Rows) async throws -> Int {
        switch rows {
        case .keptAnswers:
            try await store.database.execute(
                """
                DELETE FROM idempotency_keys
                WHERE ctid = ANY(ARRAY(
                    SELECT ctid FROM idempotency_keys WHERE created_at < now() - interval '24 hours' LIMIT \(Self.batchSize)
                ))
                """
            )
        case .issuedTickets:
            try await store.database.execute(
                """
                DELETE FROM audit_log
                WHERE at < now() - \(store.settings.eventRetention) AND entry_id = ANY(ARRAY(
                    SELECT entry_id FROM audit_log WHERE action = \(AuditAction.ticketIssued.rawValue)
                    ORDER BY entry_id LIMIT \(Self.batchSize)
                ))
                """
            )
        case .auditEntries:
            try await forgetAuditEntries()
        }
    }

    /// The oldest by their number, which is nearly their age, so that nothing younger is looked at.
    private func forgetAuditEntries() async throws -> Int {
        guard let retention = store.settings.auditRetention else { return 0 }
        return try await store.database.execute(
            """
            DELETE FROM audit_log
            WHERE at < now() - \(retention) AND entry_id = ANY(ARRAY(
                SELECT entry_id FROM audit_log ORDER BY entry_id LIMIT \(Self.batchSize)
            ))
            """
        )
    }
}
