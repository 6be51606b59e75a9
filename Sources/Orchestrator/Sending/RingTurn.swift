import APNSTransport
import ActivityModel
import Postgres

/// One batch of the carousel: the newest change to the next update tokens of a ring.
struct RingTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// Destinations read, sent to and acknowledged at once.
    static let batchSize = 1_000

    func run(_ stored: Carousel) async throws -> SegmentWorker.Turn {
        var (carousel, merges) = try await self.orchestrator.changes.turned(stored, to: self.activity)
        guard case .send(let revision, let alertRevision, let after, let through) = carousel.next else { return .idle }
        guard let change = try await self.orchestrator.changes.stamped(self.activity.key, revision: revision) else {
            return .idle
        }
        let riders = try await Destination.read(
            """
            SELECT device_key, update_token, frequent, failures, known_revision, leaving FROM subscriptions
            WHERE activity_key = \(self.activity.key) AND mode = 'token' AND state = 'riding'
              AND device_key > \(after) AND device_key <= \(through ?? .max) AND known_revision < \(revision)
            ORDER BY device_key LIMIT \(Self.batchSize)
            """,
            from: self.orchestrator.database
        )
        var alert = change.alert
        if let alertRevision, alertRevision != revision {
            alert = try await self.orchestrator.changes.alert(self.activity.key, revision: alertRevision)
        }
        let outcome = try await TokenPushes(orchestrator: self.orchestrator, activity: self.activity)
            .send(change, to: riders.map { ($0, alert) })
        if let reason = outcome.commonFailure {
            // What the walk has turned to is kept, so that an alert is still owed when the failure is over.
            try await self.orchestrator.segments.acknowledge(self.lease, carousel, with: merges)
            return .failed(reason: reason)
        }
        carousel.acknowledge(through: riders.last?.deviceKey, reachedBound: riders.count < Self.batchSize)
        let statements = merges + outcome.exceptionStatements
        try await self.orchestrator.segments.acknowledge(self.lease, carousel, with: statements)
        return .worked
    }
}
