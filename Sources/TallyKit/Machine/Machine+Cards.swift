extension Machine {
    /// iOS ends a card after eight hours. A little less, since the clock that measured its age may be off.
    static let longestLife: Double = 8 * 3600 - 60
    /// Cards that are over are remembered for so long: iOS shows them for up to four hours.
    static let overFor: Double = 24 * 3600
    /// Pushes that Apple still stored may come for so long: after a sign-out that Tally has confirmed, and after the end of a card.
    static let lateStarts: Double = 900
    /// Seconds. If a push starts a card so long after the elder one, it continues that one: no repeat comes so late.
    static let continuedAfter: Double = 1_800
    /// How old a card can be, in seconds, if Tally continued and ended it while nobody looked. Tally waits at least 45 minutes
    /// after its report. The start that continues it may be as late as others.
    static let unseenContinuation = 2_700..<8 * 3600 + lateStarts

    mutating func take(_ reading: Reading, at now: Moment, _ actions: inout [Action]) {
        isReading = false
        hasJustRead = true
        lastReading = now
        if let enabled = reading.activitiesEnabled { memory.facts?.activitiesEnabled = enabled }
        if let frequent = reading.frequentPushesEnabled { memory.facts?.frequentPushesEnabled = frequent }
        memory.facts?.startTokens.merge(reading.startTokens) { _, new in new }
        for card in reading.cards {
            // It was missed by mistake.
            if !card.state.isOver, memory.cards[card.id]?.ending == .unknown { memory.cards[card.id]?.revive() }
            see(card, at: now, &actions)
        }
        missCards(of: reading, at: now, &actions)
        if tokenReading?.end(at: now) == nil { tokenReading = waitForToken(at: now) }
        // Cards that came while the app slept are known now, and what comes later is nobody's who left.
        if areLateStartsOver(at: now) {
            memory.lateStarts = nil
            memory.leaver = nil
        }
        let live = Set(reading.cards.filter { !$0.state.isOver }.map(\.id))
        for activity in memory.activities {
            judge(activity, found: live, at: now, &actions)
            judgeDuplicates(of: activity, found: live, at: now, &actions)
        }
        // No repeat came in that time.
        if secondReading == nil {
            for (id, card) in memory.cards where card.repeats?.end(at: now) == nil { memory.cards[id]?.repeats = nil }
        }
    }

    /// Takes what a stream or a property tells of a card.
    mutating func see(_ seen: SeenCard, at now: Moment, _ actions: inout [Action]) {
        // Only the stream of states tells what came before.
        guard seen.state != .dismissed || seen.isFromStates else { return }
        defer { if let revision = seen.revision { show(revision, on: seen.id, since: nil, at: now) } }
        missing.remove(seen.id)
        guard var card = memory.cards[seen.id] else {
            // A card that was over before it was seen is nobody's news.
            if !seen.state.isOver { meet(seen, at: now, &actions) }
            return
        }
        // A card that is over stays over, whatever a late stream says.
        guard card.ending == nil else {
            // The last process may have died before iOS ended it. A duplicate is judged again.
            if let reason = card.endedByApp, reason != .duplicate, !seen.state.isOver { askToEnd(card.id, &actions) }
            return
        }
        if let token = seen.updateToken { card.updateToken = token }
        // The eight hours of a card count from its beginning.
        if card.state == .pending, seen.state != .pending, !seen.state.isOver { card.firstSeen = now }
        card.state = seen.state
        memory.cards[card.id] = card
        if seen.state.isOver {
            end(card.id, by: Self.cause(of: card, at: now), at: now, &actions)
        } else if card.endedByApp != nil {
            askToEnd(card.id, &actions)
        }
    }

    private mutating func meet(_ seen: SeenCard, at now: Moment, _ actions: inout [Action]) {
        memory.cardCount += 1
        let start = memory.starting.removeValue(forKey: seen.activity)
        let others = memory.cards.values.filter { $0.activity == seen.activity }
        memory.cards[seen.id] = Card(
            id: seen.id,
            activity: seen.activity,
            type: seen.type,
            number: memory.cardCount,
            firstSeen: now,
            state: seen.state,
            updateToken: seen.updateToken,
            start: start
        )
        for elder in others where start == nil && elder.successor == nil && Self.mayBeContinued(elder, at: now) {
            memory.cards[elder.id]?.successor = seen.id
        }
        tokenReadings = 0
        tokenReading = waitForToken(at: now)
        if start == nil, isAfterSignOut { return endCard(seen.id, .signedOut, at: now, &actions) }
        judge(seen.activity, found: [], at: now, &actions)
        // The elder card may be gone already: only a reading tells.
        if others.contains(where: \.isLive) { lastReading = nil }
    }

    /// Whether a card that a push starts now may continue this one. The end of an old card may come before the start of the
    /// new one. Then it was certainly reported long before, and iOS had not ended it. Tally continues no card whose end the
    /// app has seen.
    private static func mayBeContinued(_ elder: Card, at now: Moment) -> Bool {
        switch elder.ending {
        case nil: now - elder.firstSeen > continuedAfter
        case .unknown: unseenContinuation.contains((elder.repeats?.since ?? now) - elder.firstSeen)
        default: false
        }
    }

    /// Ends the cards of an activity that should not be there. `found`: those that a reading has just found.
    private mutating func judge(_ activity: String, found: Set<String>, at now: Moment, _ actions: inout [Action]) {
        let cards = memory.cards.values.filter { $0.activity == activity }.sorted { $0.number < $1.number }
        // If an app starts a card again, that overrules what came before.
        let start = cards.lastIndex { $0.start != nil } ?? 0
        var hasElder = false
        for (place, card) in cards.enumerated() where card.isLive {
            if found.contains(card.id), isContinued(card, found: found) {
                endCard(card.id, .continued, at: now, &actions)
            } else if hasElder, found.contains(card.id) {
                endCard(card.id, .duplicate, at: now, &actions)
            } else if place > start, cards[start..<place].contains(where: \.keepsOthersOut) {
                endCard(card.id, .unwanted, at: now, &actions)
            } else if found.contains(card.id) {
                hasElder = true
            }
        }
    }

    private func isContinued(_ card: Card, found: Set<String>) -> Bool {
        guard let successor = card.successor, let next = memory.cards[successor] else { return false }
        return next.isLive && found.contains(successor)
    }

    /// Ends the duplicates that are still there. If the elder card has gone since the last process died, the first one takes its
    /// place.
    private mutating func judgeDuplicates(
        of activity: String,
        found: Set<String>,
        at now: Moment,
        _ actions: inout [Action]
    ) {
        let cards = memory.cards.values.filter { $0.activity == activity }.sorted { $0.number < $1.number }
        let duplicates = cards.filter { $0.endedByApp == .duplicate && found.contains($0.id) }
        guard let first = duplicates.first else { return }
        let elders = cards.filter(\.isLive)
        let elder = cards.last { $0.number < first.number && $0.endedByApp != .duplicate }
        if elders.isEmpty, elder?.endedByApp == nil, !endsAsked.contains(first.id) {
            memory.cards[first.id]?.revive()
            judge(activity, found: found, at: now, &actions)
        } else if !elders.isEmpty, !elders.contains(where: { found.contains($0.id) }) {
            return  // The next reading tells whether the elder has gone.
        }
        for card in duplicates where memory.cards[card.id]?.endedByApp == .duplicate && !endsAsked.contains(card.id) {
            askToEnd(card.id, &actions)
        }
    }

    /// Cards that pushes start for a user who is no longer there.
    private var isAfterSignOut: Bool {
        guard memory.leaver != nil else { return false }
        // Nobody starts a card for the next user before Tally hears of that user.
        return memory.signedOut || !memory.hasToldUser
    }

    /// The stream that tells the token of a new card may be silent.
    private mutating func waitForToken(at now: Moment) -> Pause? {
        let isMissing = memory.cards.values.contains { $0.isLive && $0.updateToken == nil && $0.start?.channel == nil }
        guard isMissing, tokenReadings < Self.mostTokenReadings else { return nil }
        tokenReadings += 1
        return Pause(Self.secondReadingAfter * Double(1 << (tokenReadings - 1)), from: now)
    }

    /// Whether all pushes have come for whoever left. The first reading after a launch may come too early.
    func areLateStartsOver(at now: Moment) -> Bool {
        memory.lateStarts.map { $0.end(at: now) == nil } == true && secondReading == nil
    }

    /// Whether all repeats of the start of a card have come that went while nobody looked.
    func areRepeatsOver(at now: Moment) -> Bool {
        secondReading == nil && memory.cards.values.contains { $0.repeats.map { $0.end(at: now) == nil } == true }
    }

    private mutating func askToEnd(_ id: String, _ actions: inout [Action]) {
        endsAsked.insert(id)
        actions.append(.endCard(id))
    }

    mutating func endCard(_ id: String, _ reason: AppEnd, at now: Moment, _ actions: inout [Action]) {
        memory.cards[id]?.endedByApp = reason
        askToEnd(id, &actions)
        end(id, by: .app, at: now, &actions)
    }

    private mutating func end(_ id: String, by cause: CardEnding.Cause, at now: Moment, _ actions: inout [Action]) {
        guard let card = memory.cards[id], card.ending == nil else { return }
        memory.cards[id]?.ending = cause
        if cause == .unknown { memory.cards[id]?.repeats = Pause(Self.lateStarts, from: now) }
        actions.append(.ended(CardEnding(activity: card.activity, card: id, cause: cause)))
    }

    /// Only a card that went straight from the screen was swiped away, and only if nobody had ended it. Of an old one, iOS may
    /// have told the end while the app slept.
    private static func cause(of card: Card, at now: Moment) -> CardEnding.Cause {
        if card.endedByApp != nil { return .app }
        if card.state == .ended { return .system }
        return (0..<longestLife).contains(now - card.firstSeen) ? .user : .unknown
    }

    /// A card that two readings in a row do not find is gone. One alone may come too early after a launch.
    private mutating func missCards(of reading: Reading, at now: Moment, _ actions: inout [Action]) {
        let found = Set(reading.cards.map(\.id))
        for card in memory.cards.values.sorted(by: { $0.number < $1.number })
        where card.ending == nil && reading.types.contains(card.type) && !found.contains(card.id) {
            guard missing.contains(card.id), secondReading == nil else {
                missing.insert(card.id)
                secondReading = secondReading ?? Pause(Self.secondReadingAfter, from: now)
                continue
            }
            missing.remove(card.id)
            memory.cards[card.id]?.state = .dismissed
            end(card.id, by: card.endedByApp == nil ? .unknown : .app, at: now, &actions)
        }
    }

    /// Cards whose end Tally has not confirmed stay.
    mutating func forgetOldCards(at now: Moment) {
        let unconfirmed = Set(memory.unconfirmedActivities)
        for card in memory.cards.values
        where card.ending != nil && now - card.firstSeen > Self.longestLife + Self.overFor
            && !unconfirmed.contains(card.activity) && (card.reported == nil || card.isEndConfirmed == true)
        {
            memory.cards[card.id] = nil
            if !memory.cards.values.contains(where: { $0.activity == card.activity }) {
                memory.confirmedCards[card.activity] = nil
            }
        }
    }
}
