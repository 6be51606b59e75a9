import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Store

/// One pass of the carousel: the newest change to the next update tokens of a ring, until the lap or the ring ends or
/// something else is to be done.
struct RingTurn: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    let activity: ActivitySnapshot
    /// How the ring stood at the look that this turn follows.
    let progress: SegmentProgress
    /// The newest change as that look has shown it, if it may leave under its stamp.
    let newest: ChangeToSend?

    /// - Returns: Also how many pushes have left.
    func run() async throws -> (TurnResult, pushes: Int) {
        let (carousel, merges) = ChangeStore.turned(progress.carousel, to: activity, under: lease)
        guard case .send(let revision, let alert, let after, let through) = carousel.next else { return (.idle, 0) }
        guard let change = try await change(revision) else { return (.idle, 0) }
        let pass = RingPass(
            lease: lease,
            progress: progress,
            activity: activity,
            change: change,
            alert: alert,
            through: through,
            mostPushes: progress.rings < RingDivision.mostRings ? room.settings.ringSize : nil
        )
        let walk = RingWalk(
            room: room,
            slot: slot,
            pass: pass,
            alert: try await content(of: alert, on: change),
            identity: try await room.signing.identity(of: activity.bundleID, activity.environment),
            progress: RingProgress(
                segments: room.segments,
                lease: lease,
                change: revision,
                alertStamp: alert == nil ? nil : change.timestamp,
                carousel: carousel,
                merges: merges,
                nothing: PushExceptions(activityKey: activity.key, backoff: room.settings.backoff)
            )
        )
        return try await walk.run(after: after)
    }

    private func change(_ revision: Revision) async throws -> ChangeToSend? {
        if let newest, newest.revision == revision { return newest }
        return try await room.changes.stamped(revision, under: lease)
    }

    private func content(of revision: Revision?, on change: ChangeToSend) async throws -> AlertContent? {
        guard let revision else { return nil }
        return revision == change.revision
            ? change.alert : try await room.changes.alert(activity.key, revision: revision)
    }
}
