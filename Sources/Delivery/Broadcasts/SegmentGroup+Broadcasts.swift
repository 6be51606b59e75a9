import APNSTransport
import ActivityModel
import Channels
import DeliveryStore
import Logging
import Postgres
import Store
import Waiting

/// How a group serves channels.
extension SegmentGroup {
    /// Sends a plain broadcast. The sender does not check again whether it may continue, because one push to one
    /// channel is over at once (promise 5).
    func push(_ broadcast: PlainBroadcast) async throws -> PushOutcome {
        let (activity, change) = (broadcast.activity, broadcast.change)
        let identity = try await room.signing.identity(of: activity.bundleID, activity.environment)
        let push = broadcast.push(signedBy: identity, deadline: room.settings.pushDeadline)
        let outcome = await slot.awaiting { await room.broadcast(push, of: change, activity.names) }
        if outcome.isAccepted { room.work.times.record(change, in: activity.environment, by: .broadcast) }
        return outcome
    }

    /// Ends the lease of a channel whose broadcast was not accepted. It is tried again after a pause, unless APNs refuses
    /// it for good, or the channel is lost.
    func settle(_ broadcast: PlainBroadcast, _ outcome: PushOutcome) async throws {
        let segments = room.segments
        let consequence = outcome.class.broadcastConsequence(onSettled: broadcast.address.isSettled)
        if consequence == .refused { return try await passOver(broadcast, outcome) }
        if consequence.mayHaveArrived {
            _ = try await room.database.execute(
                ChangeStore.markSent(broadcast.change.revision, of: broadcast.activity.key)
            )
        }
        if consequence == .lost {
            let loss = try await room.channels.settleLoss(
                of: broadcast.address.channelID,
                broadcast.address.apnsID,
                app: broadcast.activity.bundleID,
                broadcast.activity.environment,
                reason: outcome.words
            ) { await slot.awaiting($0) }
            if case .settled = loss { return try await segments.queueAgain(broadcast.lease) }
        }
        try await backOff(broadcast.lease, afterFailures: broadcast.failures + 1, because: outcome)
    }

    /// Ends the lease of a channel's segment for a pause.
    func backOff(_ lease: SegmentLease, afterFailures failures: Int, because outcome: PushOutcome) async throws {
        let delay = room.settings.backoff.delay(afterFailures: failures)
        room.logger.warning(
            "segment backs off",
            metadata: [
                "activity.key": "\(lease.activityKey)", "segment": "\(lease.segment)",
                "reason": "\(outcome.words)", "delay": "\(delay)",
            ]
        )
        try await room.segments.backOff(lease, for: delay)
    }

    private func passOver(_ broadcast: PlainBroadcast, _ outcome: PushOutcome) async throws {
        let (segments, carousel) = (room.segments, broadcast.passed)
        room.logger.refusedForGood(broadcast.activity.key, outcome)
        let isAtRest = try await segments.acknowledge(
            broadcast.lease,
            carousel,
            restingIfStill: broadcast.wakes,
            with: ChangeStore.passed(carousel, under: broadcast.lease)
        )
        if !isAtRest { try await segments.queueAgain(broadcast.lease) }
    }
}

extension DeliveryRoom {
    /// Sends a push to a channel, and takes down what became of it.
    func broadcast(_ push: BroadcastPush, of change: ChangeToSend, _ activity: ActivityNames) async -> PushOutcome {
        let departure = ContinuousClock.now
        let outcome = await sender.broadcast(push)
        timeline.record(
            TimelineSending(
                activity: activity,
                segment: SegmentRows.channelSegment,
                event: change.kind == .end ? .end : .update,
                revision: change.revision,
                origin: change.origin,
                priority: push.priority,
                detail: .pushes
            ),
            broadcast: outcome,
            latency: departure.duration(to: .now)
        )
        return outcome
    }
}

extension Logger {
    /// Says that a broadcast is not tried again.
    func refusedForGood(_ activityKey: Int64, _ outcome: PushOutcome) {
        error(
            "APNs refuses a broadcast for good",
            metadata: ["activity.key": "\(activityKey)", "apns.reason": "\(outcome.words)"]
        )
    }
}
