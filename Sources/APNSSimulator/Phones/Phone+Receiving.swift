package import ActivityModel
import JSON

/// A push that arrives at one phone.
package struct ArrivingPush: Sendable {
    /// The destination that it was sent to.
    package enum Destination: Sendable, Hashable {
        case device
        case start(type: ActivityTypeName)
        /// The number of the card that has the token.
        case token(card: Int)
        /// The number of the card that follows the channel.
        case channel(card: Int)
    }

    package var sequence: UInt64
    package var body: PushBody
    package var priority: Int
    package var destination: Destination
    /// False if the body starts a card on a channel that does not exist.
    package var channelExists = true
}

extension Phone {
    /// The result of a push, with its card.
    private struct Outcome {
        var verdict: PushVerdict
        var card: Int?
        var reachableSince: Int64
        var detail: String?
        var effects: [PhoneEffect] = []
    }

    /// Receives a push and records it with its result.
    package mutating func receive(_ push: ArrivingPush, at now: ClockReading) -> [PhoneEffect] {
        let outcome: Outcome
        switch push.destination {
        case .device:
            outcome = Outcome(verdict: .delivered, reachableSince: startableSince)
        case .start(let type):
            outcome = start(push, type: type, at: now)
        case .token(let card), .channel(let card):
            outcome = change(push, card: card, at: now)
        }
        received.append(
            ReceivedPush(
                sequence: push.sequence,
                at: now,
                body: push.body,
                priority: push.priority,
                card: outcome.card,
                reachableSince: outcome.reachableSince,
                verdict: outcome.verdict,
                detail: outcome.detail
            )
        )
        return outcome.effects
    }

    // MARK: Start

    private mutating func start(_ push: ArrivingPush, type: ActivityTypeName, at now: ClockReading) -> Outcome {
        let body = push.body
        if let (reason, detail) = startObstacle(push, type: type, at: now) {
            return Outcome(verdict: .ignored(reason), reachableSince: startableSince, detail: detail)
        }
        recentStarts.append(now.milliseconds)
        let activityID = activityID(in: body)
        let older = cards.filter { card in
            activityID != nil && card.activityID == activityID && card.isLive(at: now.milliseconds, limits: limits)
        }
        let number = addCard(
            activityID: activityID,
            type: type,
            startedByPush: true,
            attributesByteCount: body.attributesByteCount,
            contentState: body.contentState,
            at: now
        )
        cards[number].newestTimestamp = body.timestamp
        cards[number].staleDate = body.staleDate
        var effects: [PhoneEffect] = []
        // The app ends its older cards of the same activity, and from now on reports the newest.
        for card in older {
            cards[card.number].phase = .replaced(since: now.milliseconds)
            effects += unlink(card, at: now.milliseconds)
        }
        secondCards += older.isEmpty ? 0 : 1
        if case .channel(let id) = body.input {
            effects += subscribe(card: number, to: id, at: now)
        } else {
            let delay = Int64.random(in: limits.tokenDelay, using: &random)
            effects.append(.awaitToken(card: number, milliseconds: delay))
        }
        return Outcome(
            verdict: older.isEmpty ? .started : .secondCard,
            card: number,
            reachableSince: startableSince,
            effects: effects
        )
    }

    /// Why the start fails; nil if it succeeds.
    private mutating func startObstacle(
        _ push: ArrivingPush,
        type: ActivityTypeName,
        at now: ClockReading
    ) -> (IgnoreReason, String?)? {
        let body = push.body
        if let fault = body.fault { return (.malformed, fault) }
        if body.event != .start { return (.wrongKind, nil) }
        // Apple accepts a start token from before a force-quit, but the phone does nothing.
        if isForceQuit { return (.forceQuit, nil) }
        if body.attributesType != type.rawValue { return (.unknownType, nil) }
        if !body.hasAlert { return (.noAlert, nil) }
        if let fault = body.attributesDecodingFault { return (.undecodableAttributes, fault) }
        if let fault = body.contentStateFault(asTypeNamed: type.rawValue) { return (.undecodableContent, fault) }
        if let size = oversize(body, attributesByteCount: body.attributesByteCount) { return (.tooLarge, size) }
        switch body.input {
        case .contradictory:
            return (.contradictoryInput, nil)
        case .channel where !SystemFeature.channels.isPresent(in: profile.osVersion):
            return (.needsNewerSystem, "channels need iOS 18")
        case .channel where !push.channelExists:
            return (.unknownChannel, nil)
        case .channel, .token, .unspecified:
            break
        }
        if cards.count(where: { $0.isLive(at: now.milliseconds, limits: limits) }) >= limits.activities,
            !replacesLiveCard(body, at: now)
        {
            return (.tooManyActivities, nil)
        }
        recentStarts.removeAll { $0 <= now.milliseconds - limits.startWindow }
        return recentStarts.count >= limits.startBudget ? (.startBudget, nil) : nil
    }

    private func replacesLiveCard(_ body: PushBody, at now: ClockReading) -> Bool {
        guard let activityID = activityID(in: body) else { return false }
        return cards.contains { $0.activityID == activityID && $0.isLive(at: now.milliseconds, limits: limits) }
    }

    /// The activity of a start: the one in the attributes, or else the only one that the phone follows.
    private func activityID(in body: PushBody) -> ActivityID? {
        if let id = body.attributes?.object?[profile.idAttribute]?.string { return ActivityID(id) }
        return profile.follows.count == 1 ? profile.follows.first : nil
    }

    // MARK: Update and end

    private mutating func change(_ push: ArrivingPush, card number: Int, at now: ClockReading) -> Outcome {
        let body = push.body
        let card = cards[number]
        func ignored(_ reason: IgnoreReason, _ detail: String? = nil) -> Outcome {
            Outcome(verdict: .ignored(reason), card: number, reachableSince: card.linkedSince, detail: detail)
        }
        guard body.fault == nil, let timestamp = body.timestamp else { return ignored(.malformed, body.fault) }
        guard body.event != .start else { return ignored(.wrongKind) }
        guard card.isLive(at: now.milliseconds, limits: limits) else { return ignored(.afterEnd) }
        if push.priority == 10, !spendHighPriority(at: now) { return ignored(.highPriorityBudget) }
        let isEnd = body.event == .end
        let newest = card.newestTimestamp ?? Int64.min
        // An end with an old timestamp still works (Apple staff, forum thread 776165).
        if !isEnd, timestamp <= newest { return ignored(timestamp == newest ? .sameTimestamp : .olderTimestamp) }
        if !isEnd, timestamp > now.seconds + limits.lifetime / 1000 { return ignored(.farFuture) }
        // An end may leave out the content. The last content then stays.
        if body.contentState != nil || !isEnd {
            if let fault = body.contentStateFault(asTypeNamed: card.typeName.rawValue) {
                return ignored(.undecodableContent, fault)
            }
            if let size = oversize(body, attributesByteCount: card.attributesByteCount) {
                return ignored(.tooLarge, size)
            }
        }
        if timestamp >= newest {
            cards[number].contentState = body.contentState ?? card.contentState
            cards[number].newestTimestamp = timestamp
            cards[number].staleDate = body.staleDate
        }
        var outcome = Outcome(verdict: .shown, card: number, reachableSince: card.linkedSince)
        if isEnd {
            let dismissedAt = dismissal(body.dismissalDate, at: now)
            cards[number].phase = .ended(since: now.milliseconds, dismissedAt: dismissedAt)
            outcome.verdict = .ended
            outcome.effects = unlink(card, at: dismissedAt)
        }
        return outcome
    }

    /// Takes a push at priority 10 from the budget. Returns false if the budget is empty and the device throttles.
    private mutating func spendHighPriority(at now: ClockReading) -> Bool {
        let isFrequent = profile.frequentPushesEnabled
        let budget = isFrequent ? limits.frequentHighPriorityBudget : limits.highPriorityBudget
        recentHighPriority.removeAll { $0 <= now.milliseconds - limits.highPriorityWindow }
        guard recentHighPriority.count < budget else { return false }
        recentHighPriority.append(now.milliseconds)
        return true
    }

    /// When an ended card leaves: at `date`, immediately if that has passed, and after 4 hours at the latest.
    private func dismissal(_ date: Int64?, at now: ClockReading) -> Int64 {
        let latest = now.milliseconds + limits.linger
        guard let date, date < latest / 1000 else { return latest }
        return date <= now.seconds ? now.milliseconds : date * 1000
    }

    private func oversize(_ body: PushBody, attributesByteCount: Int) -> String? {
        let total = attributesByteCount + body.contentStateByteCount
        return total > limits.heldBytes ? "\(total) bytes" : nil
    }
}
