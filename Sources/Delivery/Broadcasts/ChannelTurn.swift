import APITypes
import APNSTransport
import ActivityModel
import Cards
import Channels
import DeliveryStore
import Logging
import Postgres
import Store

/// One turn on the channel of an activity, which is sent each newest change.
struct ChannelTurn: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// How the segment stood at the look that this turn follows.
    let progress: SegmentProgress
    /// The newest change as that look has shown it, if it may leave under its stamp.
    let newest: ChangeToSend?

    func run(_ channel: BroadcastChannel?) async throws -> TurnResult {
        guard let channel else { return .idle }
        switch channel.state {
        case .creating: return try await leaveToGroup()
        case .ready: return try await broadcast(on: channel)
        case .deleting, .deleted, .lost: return try await abandonSubscribers()
        }
    }

    // MARK: A channel that is not there

    /// A group has it made (``ChannelToMake``), unless the activity has ended meanwhile.
    private func leaveToGroup() async throws -> TurnResult {
        guard activity.state == .live else {
            _ = try await room.database.execute(ChannelRows.withdrawal(of: activity.key))
            return .idle
        }
        try await room.segments.queueAgain(lease)
        return .rested
    }

    /// The channel is gone, so nobody who listens to it can be told anything any more. A turn abandons a part of them:
    /// between two turns the worker ends if others need its place, or the daemon stops.
    private func abandonSubscribers() async throws -> TurnResult {
        let limit = room.settings.stretchSize
        let abandonment = SubscriptionRows.abandonment(ofListenersTo: activity.key, limit: limit)
        let abandoned = try await room.database.execute(abandonment)
        return abandoned == limit ? .worked : .idle
    }

    // MARK: Using it

    private func broadcast(on channel: BroadcastChannel) async throws -> TurnResult {
        guard let apnsID = channel.apnsID else { return .idle }
        var (carousel, merges) = ChangeStore.turned(progress.carousel, to: activity, under: lease)
        let (revision, alertRevision, isRepeat): (Revision, Revision?, Bool)
        switch carousel.next {
        case .send(let next, let alert, _, _): (revision, alertRevision, isRepeat) = (next, alert, false)
        case .rest where channel.behind > 0:
            // A change that is held back leaves at its own time, and reaches late joiners, too.
            if let wait = repeatWait(on: channel) { return .early(min(wait, activity.hold ?? wait)) }
            (revision, alertRevision, isRepeat) = (carousel.completed, nil, true)
        case .rest: return .idle
        }
        guard let change = try await changeToSend(revision, isRepeat: isRepeat, on: channel) else { return .idle }
        let sent = try await push(change, alertRevision, isRepeat: isRepeat, on: channel.storage, to: apnsID)
        guard let outcome = sent else { return .worked }
        let news = merges + [ChangeStore.markSent(revision, of: activity.key)]
        let consequence = outcome.class.broadcastConsequence(onSettled: channel.isSettled)
        if consequence.mayHaveArrived { carousel.reached() }
        switch consequence {
        case .done, .refused:
            if consequence == .refused { room.logger.refusedForGood(activity.key, outcome) }
            if consequence == .done, !isRepeat {
                room.work.times.record(change, in: activity.environment, by: .broadcast)
            }
            carousel.acknowledge(through: nil, reachedBound: true)
            var statements = consequence == .done ? news : ChangeStore.passed(carousel, under: lease)
            let caughtUp = SubscriptionRows.caughtUp(
                revision,
                of: activity.key,
                before: channel.readAt,
                limit: room.settings.stretchSize
            )
            if channel.isCrowded { try await markCrowd(caughtUp) }
            statements.append(caughtUp)
            // Whose start had expired by then is told now.
            statements.append(ChannelRows.forgetStarts(on: channel.id, before: channel.readAt))
            if change.kind == .end {
                let grace = activity.policy.channelGrace(channel.storage)
                statements.append(ChannelRows.deletion(of: channel.id, after: .seconds(grace)))
            }
            return try await complete(carousel, alertRevision == nil ? nil : change.timestamp, with: statements)
        case .lost, .again:
            // Keeps the revision that the walk has turned to, so that its alert is still owed after the failure.
            let statements = consequence.mayHaveArrived ? news : ChangeStore.passed(carousel, under: lease)
            try await room.segments.acknowledge(lease, carousel, hasFailed: true, with: statements)
            if consequence == .lost { return try await giveUp(channel, apnsID, because: outcome) }
            return .failed(reason: outcome.words)
        }
    }

    /// The least pause before a broadcast is repeated. Everybody who listens receives the repeat, also those who are not
    /// behind.
    private static let repeatInterval = Duration.seconds(10)

    /// How long until a repeat may leave; nil: it may now. Nobody waits longer for the newest state than for a push
    /// that is retried (promise 2). If the clock was set back since the last broadcast, nobody waits: the wait would be
    /// as long as the step.
    private func repeatWait(on channel: BroadcastChannel) -> Duration? {
        guard let sincePush = channel.sincePush, sincePush >= .zero else { return nil }
        let wait = min(Self.repeatInterval, room.settings.retryCap) - sincePush
        return wait > .zero ? wait : nil
    }

    /// If that was all, the segment rests with it.
    private func complete(
        _ carousel: Carousel,
        _ alertStamp: Timestamp?,
        with statements: [Query]
    ) async throws -> TurnResult {
        let hasRested = try await room.segments.acknowledge(
            lease,
            carousel,
            alertStamp: alertStamp,
            restingIfStill: carousel.completed == activity.newest ? progress.wakes : nil,
            with: statements
        )
        return hasRested ? .rested : .worked
    }

    /// Gives up a lost channel. If the activity still runs, the change goes to its new channel.
    private func giveUp(
        _ channel: BroadcastChannel,
        _ apnsID: APNSChannelID,
        because outcome: PushOutcome
    ) async throws -> TurnResult {
        let loss = try await room.settleLoss(of: channel.id, apnsID, in: activity, because: outcome, slot: slot)
        switch loss {
        case .settled: return .worked
        case .isThere: return .failed(reason: outcome.words)
        case .unclear(let unclear): return .failed(reason: unclear.words)
        }
    }

    /// A repeat for late joiners brings no alert. If its stamp was broadcast with an alert, the repeat has other bytes,
    /// which need a stamp of their own (promise 3).
    private func changeToSend(
        _ revision: Revision,
        isRepeat: Bool,
        on channel: BroadcastChannel
    ) async throws -> ChangeToSend? {
        let change: ChangeToSend?
        if let newest, newest.revision == revision {
            change = newest
        } else {
            change = try await room.changes.stamped(revision, under: lease)
        }
        guard isRepeat, let change, change.timestamp == channel.alertStamp else { return change }
        return try await room.changes.stamped(revision, under: lease, anew: true)
    }

    /// A repeat is no news to most who listen, so it spends none of their budget (promise 10).
    private func priority(of change: ChangeToSend, alert: Revision?, isRepeat: Bool) async throws -> PushPriority {
        guard isRepeat else {
            return try await room.ledger
                .priority(of: change, PriorityCase(.channel, alert: alert), in: activity)
        }
        return PriorityRule.repeated(change.kind)
    }

    /// Nil if the end was accepted or sending was halted meanwhile: then no push has left.
    private func push(
        _ change: ChangeToSend,
        _ alertRevision: Revision?,
        isRepeat: Bool,
        on storage: ChannelStorage,
        to channel: APNSChannelID
    ) async throws -> PushOutcome? {
        var alert: AlertContent?
        if let alertRevision {
            alert =
                alertRevision == change.revision
                ? change.alert : try await room.changes.alert(activity.key, revision: alertRevision)
        }
        let priority = try await priority(of: change, alert: alert == nil ? nil : alertRevision, isRepeat: isRepeat)
        let outgoing = OutgoingChange(
            room: room,
            slot: slot,
            lease: lease,
            activity: activity,
            change: change,
            identity: try await room.signing.identity(of: activity.bundleID, activity.environment),
            detail: .pushes
        )
        let form = outgoing.form(alert: alert, priority: priority, storage: storage)
        // The stamp and the priority may have waited for the accept of an end.
        guard try await room.segments.mayGoOn(lease, with: activity, isFirst: true) else { return nil }
        return await outgoing.send(form, to: .channel(channel, storage)).single
    }

    /// Marks a crowd of late joiners, ahead of the transaction that records the broadcast: a crash in between costs a
    /// broadcast more, and tells nobody too little.
    private func markCrowd(_ caughtUp: Query) async throws {
        while try await room.database.execute(caughtUp) == room.settings.stretchSize {
            guard try await room.segments.mayGoOn(lease, with: activity, isFirst: true) else { return }
        }
    }
}
