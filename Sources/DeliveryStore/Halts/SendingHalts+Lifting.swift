import APITypes
import ActivityModel
import JSON
import Logging
import Postgres
import ReportTypes
import Store

/// How a halt ends. The halt is marked, its tokens are revived a batch at a time, and the last batch ends it.
///
/// The mark is in the database, so if a daemon dies, any other one resumes.
extension SendingHalts {
    /// How long a caller waits until tokens are revived.
    static let patience = Duration.seconds(2)

    /// Resumes sending. `reviving`: revives the tokens that were rejected on the way to the halt and since.
    ///
    /// It marks the halt, and revives tokens until `patience` is over. ``HaltPatrol`` revives the rest.
    ///
    /// - Returns: False if nothing was halted.
    func lift(
        _ scope: HaltScope,
        because reason: String,
        reviving: Bool,
        patience: Duration = SendingHalts.patience
    ) async throws -> Bool {
        guard try await begin(scope, because: reason, reviving: reviving) else { return false }
        if try await revive(scope, until: uptime() + patience) { try await finish(scope) }
        return true
    }

    /// Ends the halts that a daemon has marked and not ended. One that fails is logged, and holds up no other.
    func goOnLifting() async throws {
        let rows = try await database.query(
            "SELECT bundle_id, environment::text FROM sending_halts WHERE lifting IS NOT NULL"
        )
        for (app, environment) in try rows.decoded(as: (String, String).self) {
            let scope = HaltScope(app: BundleID(stored: app), environment: try .stored(environment))
            do {
                if try await revive(scope) { try await finish(scope) }
            } catch {
                logger.failed("cannot lift a halt", error, Self.metadata(scope))
            }
        }
    }

    /// Marks the halt: from now on it has no probes. If nothing is to be revived, no token is a suspect any more.
    private func begin(_ scope: HaltScope, because reason: String, reviving: Bool) async throws -> Bool {
        try await database.withTransaction { connection in
            let rows = try await connection.query(
                """
                UPDATE sending_halts AS h SET lifting = coalesce(h.lifting, \(reason)),
                    suspect_from = CASE WHEN \(reviving) THEN h.suspect_from ELSE 'infinity' END
                FROM (
                    SELECT bundle_id, environment, lifting, suspect_from FROM sending_halts
                    WHERE \(part: scope.contains("sending_halts"))
                    FOR NO KEY UPDATE
                ) AS before
                WHERE (h.bundle_id, h.environment) = (before.bundle_id, before.environment)
                RETURNING before.suspect_from, before.lifting IS NULL
                """
            )
            guard let (suspectFrom, isFirst) = try rows.first(as: (PGTimestamp, Bool).self) else { return false }
            if isFirst {
                try await AuditRows.record(
                    .haltLifted,
                    of: scope.app,
                    scope.environment.rawValue,
                    before: ["suspect_from": .string(Instant(suspectFrom).description)],
                    after: ["reviving": .bool(reviving)],
                    on: connection
                )
            }
            return true
        }
    }

    /// Revives all suspects. Each batch is counted with it, so that the counts survive whoever revives them.
    ///
    /// - Returns: False if `end` came first.
    private func revive(_ scope: HaltScope, until end: Duration? = nil) async throws -> Bool {
        guard try await reviveEach(scope, "revived_update_tokens", of: \.subscriptions, until: end),
            try await reviveEach(scope, nil, of: \.withheld, until: end),
            try await reviveEach(scope, nil, of: \.deviceTokens, until: end)
        else { return false }
        return try await reviveEach(scope, "revived_start_tokens", of: \.startTokens, until: end)
    }

    /// Revives what one kind of statement finds. Each one starts at the end of the one before, so it need not read past
    /// the tokens that were revived already.
    ///
    /// It stops at the uptime `end`, and returns false if tokens are left then.
    private func reviveEach(
        _ scope: HaltScope,
        _ column: String?,
        of statement: @escaping @Sendable (Revival) -> Query,
        until end: Duration?
    ) async throws -> Bool {
        var place: PGTimestamp?
        repeat {
            let start = place
            let batch: Revival.Batch? = try await database.withYieldingTransaction { connection in
                let rows = try await connection.query(
                    """
                    SELECT suspect_from FROM sending_halts
                    WHERE \(part: scope.contains("sending_halts"))
                      AND lifting IS NOT NULL
                    FOR NO KEY UPDATE
                    """
                )
                guard let suspectFrom = try rows.single(PGTimestamp.self) else { return nil }
                let revival = Revival(scope: scope, suspectFrom: start ?? suspectFrom, limit: self.batchSize)
                let batch = try Revival.batch(await connection.query(statement(revival)))
                if let column, batch.revived > 0 {
                    _ = try await connection.execute(
                        """
                        UPDATE sending_halts SET \(unescaped: column) = \(unescaped: column) + \(batch.revived)
                        WHERE \(part: scope.contains("sending_halts"))
                        """
                    )
                }
                return batch
            }
            // Another daemon has ended the halt.
            guard let batch else { return true }
            place = batch.last
            if let end, place != nil, uptime() >= end { return false }
        } while place != nil
        return true
    }

    /// Ends the halt, and lets go what waits for its next probe.
    private func finish(_ scope: HaltScope) async throws {
        let reason: String? = try await database.withTransaction { connection in
            let rows = try await connection.query(
                """
                DELETE FROM sending_halts
                WHERE \(part: scope.contains("sending_halts"))
                RETURNING lifting, revived_update_tokens, revived_start_tokens
                """
            )
            guard let (reason, cards, starts) = try rows.first(as: (String, Int64, Int64).self) else { return nil }
            let event = Event(
                .providerResumed,
                of: .app(scope.app, scope.environment),
                [
                    "by": .string(reason),
                    "revived_update_tokens": .number(JSONNumber(Int(cards))),
                    "revived_start_tokens": .number(JSONNumber(Int(starts))),
                ]
            )
            _ = try await connection.pipeline([EventRows.insertion([event]), Self.announcement(scope)])
            return reason
        }
        guard let reason else { return }
        notice(scope, isHalted: false)
        logger.notice("sending goes on", metadata: Self.metadata(scope).merging(["reason": "\(reason)"]) { $1 })
        do {
            // Announces also the work that became due between the search for due work and this commit: it has met the
            // halt.
            _ = try await database.pipeline([Self.announcement(scope), WorkNotifications.announcement])
            let freeing = QueuedPush.freeing(scope, afterLeaseOf: pushLease, limit: batchSize)
            var freed = batchSize
            while freed == batchSize { freed = try await database.execute(freeing) }
        } catch {
            logger.warning(
                "work of a lifted halt waits for the next probe",
                metadata: Self.metadata(scope).merging(["error": "\(error)"]) { $1 }
            )
        }
    }

    /// The statement that announces all that has to wait for the next probe. Announcements are taken in parts, where to
    /// wake the segments here would lock all rows of the app at once.
    ///
    /// A segment whose worker has seen the halt and has not left it at that is due, too, and meets the announcement
    /// later.
    private static func announcement(_ scope: HaltScope) -> Query {
        SegmentRows.announcement(
            of: """
                SELECT a.activity_key FROM activities AS a
                WHERE \(part: scope.contains("a"))
                  AND EXISTS (SELECT FROM segments AS s WHERE s.activity_key = a.activity_key AND s.due_at IS NOT NULL)
                """
        )
    }
}
