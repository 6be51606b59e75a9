import APNSTransport
import ActivityModel
import Cards
import Channels
import DeliveryStore
import Postgres
import Store
import Waiting

/// How a group sends routine changes.
extension SegmentGroup {
    /// Sends a change to all of its audience at once. The sender does not check again whether it may continue: the push to
    /// a channel is a single one, and those to riders are few (promise 5).
    func push(_ update: PlainUpdate) async throws -> SmallSegment.Answer {
        switch update.audience {
        case .riders(let riders): .exceptions(try await pushToRiders(riders, update))
        case .channel(let address): .broadcast(try await broadcast(update, on: address))
        }
    }

    /// Stores that a change was not accepted for all of its audience, and ends the lease.
    func settleUpdate(_ update: PlainUpdate, _ answer: SmallSegment.Answer) async throws {
        switch (update.audience, answer) {
        case (.riders, .exceptions(let exceptions)): try await settleRiders(update, exceptions)
        case (.channel(let address), .broadcast(let outcome)): try await settleBroadcast(update, outcome, on: address)
        case (.riders, _), (.channel, _): break  // no such answer
        }
    }

    private func pushToRiders(_ riders: [Destination], _ update: PlainUpdate) async throws -> PushExceptions {
        let outgoing = try await outgoing(update)
        let heard = update.change.heard(missing: nil)
        let outcome = await outgoing.send(
            outgoing.form(alert: nil, priority: PriorityRule.routine.priority),
            to: Pass.Destinations(riders)
        )
        if outcome.accepted > 0 {
            room.work.times.record(update.change, in: update.activity.environment, by: .device)
        }
        var exceptions = PushExceptions(activityKey: update.activity.key, backoff: room.settings.backoff)
        exceptions.add(outcome) {
            PushExceptions.Recipient(TokenPushes.Push(riders[$0], alert: nil, heardIfRefused: heard))
        }
        exceptions.tellRefusal(to: room.logger)
        return exceptions
    }

    /// The exceptions have rows of their own, which are due later; unless nobody was reached.
    private func settleRiders(_ update: PlainUpdate, _ exceptions: PushExceptions) async throws {
        let revision = update.change.revision
        guard exceptions.commonFailure == nil else {
            if exceptions.mayHaveArrived { try await markSent(update) }
            let delay = room.settings.backoff.delay(afterFailures: update.failures + 1)
            return try await room.segments.backOff(update.lease, for: delay)
        }
        var carousel = update.passed
        var changes = ChangeStore.passed(carousel, under: update.lease)
        if exceptions.mayHaveArrived {
            carousel.reached()
            changes = ChangeStore.merge(under: update.lease, after: update.begun, before: revision, into: revision)
            changes.append(ChangeStore.markSent(revision, of: update.lease.activityKey))
        }
        try await acknowledge(update, carousel, with: changes + exceptions.statements)
    }

    private func broadcast(_ update: PlainUpdate, on address: BroadcastAddress) async throws -> PushOutcome {
        let outgoing = try await outgoing(update)
        let priority = PriorityRule.routine.priority
        let outcome = await outgoing.send(
            outgoing.form(alert: nil, priority: priority, storage: address.storage),
            to: .channel(address.apnsID, address.storage)
        ).single
        if outcome.isAccepted {
            room.work.times.record(update.change, in: update.activity.environment, by: .broadcast)
        }
        return outcome
    }

    private func outgoing(_ update: PlainUpdate) async throws -> OutgoingChange {
        OutgoingChange(
            room: room,
            slot: slot,
            lease: update.lease,
            activity: update.activity,
            change: update.change,
            identity: try await room.signing.identity(of: update.activity.bundleID, update.activity.environment),
            detail: .pushes
        )
    }

    /// The broadcast is tried again after a pause, unless APNs refuses it for good, or the channel is lost.
    private func settleBroadcast(
        _ update: PlainUpdate,
        _ outcome: PushOutcome,
        on address: BroadcastAddress
    ) async throws {
        let consequence = outcome.class.broadcastConsequence(onSettled: address.isSettled)
        if consequence == .refused {
            room.logger.refusedForGood(update.activity.key, outcome)
            let carousel = update.passed
            return try await acknowledge(
                update,
                carousel,
                with: ChangeStore.passed(carousel, under: update.lease)
            )
        }
        if consequence.mayHaveArrived { try await markSent(update) }
        if consequence == .lost {
            let loss = try await room.settleLoss(
                of: address.channelID,
                address.apnsID,
                in: update.activity,
                because: outcome,
                slot: slot
            )
            if case .settled = loss { return try await room.segments.queueAgain(update.lease) }
        }
        try await room.backOff(update.lease, afterFailures: update.failures + 1, because: outcome.words)
    }

    private func markSent(_ update: PlainUpdate) async throws {
        _ = try await room.database.execute(
            ChangeStore.markSent(update.change.revision, of: update.lease.activityKey)
        )
    }

    /// Stores the end of a walk. The segment rests, unless it was given more work.
    private func acknowledge(_ update: PlainUpdate, _ carousel: Carousel, with statements: [Query]) async throws {
        let isAtRest = try await room.segments.acknowledge(
            update.lease,
            carousel,
            restingIfStill: update.wakes,
            with: statements
        )
        if !isAtRest { try await room.segments.queueAgain(update.lease) }
    }
}
