import ActivityModel
import Postgres

/// One pass of the carousel: the newest change to the next update tokens of a ring, until the lap or the ring ends or
/// something else is to be done.
struct RingTurn: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let activity: ActivitySnapshot
    /// ``SegmentProgress/wakes`` at the look that this turn follows.
    let wakesSeen: Int64

    func run(_ stored: Carousel) async throws -> SegmentWorker.Turn {
        let (carousel, merges) = try await orchestrator.changes.turned(stored, to: activity, isRing: true)
        guard case .send(let revision, let alert, let after, let through) = carousel.next else { return .idle }
        guard let change = try await orchestrator.changes.stamped(revision, under: lease) else { return .idle }
        let pass = RingPass(
            lease: lease,
            activity: activity,
            change: change,
            alert: alert,
            through: through,
            wakesSeen: wakesSeen
        )
        let walk = RingWalk(
            orchestrator: orchestrator,
            pass: pass,
            alert: try await content(of: alert, on: change),
            identity: try await orchestrator.signing.identity(of: activity.bundleID, activity.environment),
            progress: RingProgress(
                segments: orchestrator.segments,
                lease: lease,
                carousel: carousel,
                firstStatements: merges,
                nothing: PushExceptions(activityKey: activity.key, backoff: orchestrator.settings.backoff)
            )
        )
        return try await walk.run(after: after)
    }

    private func content(of revision: Revision?, on change: ChangeToSend) async throws -> AlertContent? {
        guard let revision else { return nil }
        return revision == change.revision
            ? change.alert : try await orchestrator.changes.alert(activity.key, revision: revision)
    }
}
