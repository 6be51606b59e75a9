import ActivityModel
import Postgres

/// Destinations that are served by their own row instead of the ring: late joiners, rotated tokens, retries.
struct CatchUpTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot

    func run() async throws -> SegmentWorker.Turn {
        let due = try await Destination.read(
            """
            SELECT device_key, update_token, frequent, failures, known_revision, leaving FROM subscriptions
            WHERE activity_key = \(self.activity.key) AND mode = 'token' AND state = 'due'
              AND due_at <= clock_timestamp()
            ORDER BY due_at LIMIT \(RingTurn.batchSize)
            """,
            from: self.orchestrator.database
        )
        guard !due.isEmpty else { return .idle }
        let newest = self.activity.newest
        let leaving = due.filter(\.leaving)
        let behind = due.filter { !$0.leaving && $0.knownRevision < newest }
        var statements = [Destination.backOnRing(due.filter { !$0.leaving && $0.knownRevision >= newest }, self.activity.key, newest)]
        if !leaving.isEmpty || !behind.isEmpty {
            guard let change = try await self.orchestrator.changes.stamped(self.activity.key, revision: newest) else {
                return .idle
            }
            // A card that just joined shows the state without being told of it; one that follows hears the alert.
            let outcome = try await TokenPushes(orchestrator: self.orchestrator, activity: self.activity)
                .send(change, to: behind.map { ($0, $0.hasFollowed ? change.alert : nil) })
            let farewell = try await TokenPushes(orchestrator: self.orchestrator, activity: self.activity)
                .send(change.asEnd, to: leaving.map { ($0, nil) })
            statements += outcome.exceptionStatements + farewell.exceptionStatements
            statements.append(Destination.forget(farewell.accepted, self.activity.key))
            statements.append(Destination.backOnRing(outcome.accepted, self.activity.key, newest))
        }
        _ = try await self.orchestrator.database.withConnection { [statements] connection in
            try await connection.pipeline(statements)
        }
        return .worked
    }
}
