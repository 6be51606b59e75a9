import APNSTransport
import ActivityModel
import Postgres

/// One batch of the carousel: the newest change to the next update tokens of a ring.
struct RingTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// Destinations read and acknowledged at once; what a crash repeats at most. The next batch begins when the last answer
    /// has come, so with fewer there would be nothing on its way for much of the time.
    static let batchSize = 5_000

    func run(_ stored: Carousel) async throws -> SegmentWorker.Turn {
        var (carousel, merges) = try await orchestrator.changes.turned(stored, to: activity, isRing: true)
        guard case .send(let revision, let alertRevision, let after, let through) = carousel.next else { return .idle }
        guard let change = try await orchestrator.changes.stamped(revision, under: lease) else { return .idle }
        let riders = try await Destination.read(
            """
            SELECT \(unescaped: Destination.columns) FROM subscriptions
            WHERE activity_key = \(activity.key) AND mode = 'token' AND state = 'riding'
              AND device_key > \(after) AND device_key <= \(through ?? .max) AND known_revision < \(revision)
            ORDER BY device_key LIMIT \(activity.batch(Self.batchSize))
            """,
            from: orchestrator.database
        )
        let alert = try await alert(alertRevision, on: change)
        let outcome = try await TokenPushes(orchestrator: orchestrator, lease: lease, activity: activity).send(
            change,
            to: riders.map { rider in
                // A card that certainly has the alert's revision joined the ring later, or was served by its own row.
                let hears = alertRevision.map { rider.knownRevision < $0 } ?? false
                return TokenPushes.Push(
                    rider,
                    alert: hears ? alert : nil,
                    heardIfRefused: change.heard(missing: hears ? alertRevision : nil)
                )
            },
            isRing: true,
            isWhole: after == 0 && through == nil && riders.count < activity.batch(Self.batchSize)
        )
        if let reason = outcome.commonFailure {
            // What the walk has turned to is kept, so that an alert is still owed when the failure is over.
            try await orchestrator.segments.acknowledge(lease, carousel, hasFailed: true, with: merges)
            return .failed(reason: reason)
        }
        let sent = riders.prefix(outcome.count)
        carousel.acknowledge(
            through: sent.last?.deviceKey,
            reachedBound: sent.count == riders.count && riders.count < activity.batch(Self.batchSize)
        )
        try await orchestrator.segments.acknowledge(
            lease,
            carousel,
            hasSent: !sent.isEmpty,
            with: merges + outcome.exceptionStatements
        )
        return .worked
    }

    private func alert(_ revision: Revision?, on change: ChangeToSend) async throws -> AlertContent? {
        guard let revision else { return nil }
        return revision == change.revision
            ? change.alert : try await orchestrator.changes.alert(activity.key, revision: revision)
    }
}
