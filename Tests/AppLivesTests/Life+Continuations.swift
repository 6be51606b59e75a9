@testable import TallyKit

/// Lives in which new cards continue old ones (policy `continue_after_hours`), because iOS ends a card after eight hours.
extension Life {
    /// Tally sends a card another push before it continues the card, and learns from Apple whether the card is still there. The
    /// start leaves within this time.
    private static let asking: Double = 15
    /// Both cards are there for so long at most.
    private static let longestOverlap: Double = 5
    /// Tally continues a card that is old enough, but not within 45 minutes of its report. Then Tally may try again.
    private static let longestRest: Double = 3_300
    /// iOS shows no more cards of an app.
    private static let mostCards = 5

    /// Looks at the pushes of Tally as they leave.
    func watchContinuation(by push: Push) {
        guard continueAfterHours != nil else { return }
        for phone in phones.indices where phones[phone].isThere && push.landing?.phone ?? phone == phone {
            switch push.kind {
            case .start where push.landing != nil || phones[phone].startToken == push.token:
                watchContinuation(of: push.activity, on: phone)
            case .end, .ignored:
                // An end may be one push too many for the phone. Then TallyKit ends the card.
                for card in reached(by: push, on: phone) { phones[phone].overlaps.remove(card.id) }
            case .start, .update: break
            }
        }
    }

    /// A start leaves for a phone.
    private func watchContinuation(of activity: String, on phone: Int) {
        let cards = phones[phone].cards.filter { $0.activity == activity }
        // No repeat of a start comes so late.
        guard let newest = cards.last, now - newest.startedAt > Machine.continuedAfter else { return }
        // Another user may have come and followed again.
        if !cards.contains(where: \.isLive), newest.cause == .user, phones[phone].leftAt ?? -1 < newest.startedAt,
            cards.allSatisfy({ $0.goneAt ?? now < now - Self.asking })
        {
            breaks(.notContinued, "\(newest.id) of \(activity)")
        }
    }

    /// Tally has taken the report of a card.
    func watchOverlap(after report: Report, on phone: Int) {
        guard continueAfterHours != nil, case .card(let news) = report.news, case .token = news.reach,
            let activity = report.subject.activity, let index = phones[phone].card(news.card)
        else { return }
        let new = phones[phone].cards[index]
        let others = phones[phone].cards.filter { $0.activity == activity && $0.isLive && $0.id != new.id }
        guard let old = others.first, others.count == 1, new.startedAt - old.startedAt > Machine.continuedAfter,
            old.token != nil, old.tokenAt < now - Self.asking
        else { return }
        phones[phone].overlaps.insert(old.id)
        plan(.overlapEnds(old.id), on: phone, in: Self.longestOverlap, epoch: nil)
    }

    /// Both cards have been there for as long as they may.
    func checkOverlap(_ id: String, on phone: Int) {
        guard phones[phone].overlaps.remove(id) != nil, let index = phones[phone].card(id) else { return }
        let card = phones[phone].cards[index]
        // Tally cannot end a card whose token has just changed.
        guard card.isLive, card.tokenAt < now - Self.asking - Self.longestOverlap else { return }
        breaks(.continued, "Tally has not ended \(id)")
    }

    /// The user may swipe the old card away while the new one is on its way. Then no library knows that the user wants none.
    func forgiveLateSwipe(of activity: String, on phone: Int, before sentAt: Double) {
        guard continueAfterHours != nil, let old = phones[phone].cards.last(where: { $0.activity == activity }),
            old.cause == .user, sentAt - old.startedAt > Machine.continuedAfter,
            old.goneAt ?? now > sentAt - Self.asking
        else { return }
        phones[phone].dismissed.remove(activity)
    }

    /// If the clock was set, a card that was swiped away a moment ago may look as old as one that Tally continues.
    func forgiveUnknownAge(of activity: String, on phone: Int) {
        guard let old = phones[phone].cards.last(where: { $0.activity == activity }), old.hasClockChanged,
            clock(phone) - old.startedAtByPhone > Machine.continuedAfter
        else { return }
        phones[phone].dismissed.remove(activity)
    }

    // MARK: Without faults

    /// A phone that shows one card of the activity that lasts, which Tally knows.
    private struct Single {
        let phone: Int
        let card: PhoneCard
    }

    /// Hours pass with nothing in the way, so that all cards get old enough.
    func continueCalmly() async throws {
        guard let continueAfterHours, let lasting, broken.isEmpty else { return }
        let age = Double(continueAfterHours) * 3600
        var singles: [Single] = []
        for phone in phones.indices {
            if let card = try await single(of: lasting, on: phone, youngerThan: age - Self.wake) {
                singles.append(Single(phone: phone, card: card))
            }
        }
        note("hours pass, and nothing goes wrong")
        areFaultsOn = false
        try await pass(age + Self.longestRest)
        areFaultsOn = true
        for single in singles {
            let woken = now
            try await wakeCalmly(single.phone)
            checkContinuation(of: single, in: lasting, before: woken)
        }
    }

    /// The only card of an activity on a phone; nil if something may prevent its continuation.
    private func single(of activity: String, on phone: Int, youngerThan age: Double) async throws -> PhoneCard? {
        let state = phones[phone]
        let live = state.cards.filter(\.isLive)
        let cards = live.filter { $0.activity == activity }
        guard state.isThere, state.isOnline, let user = state.user, let device = state.kept?.deviceID,
            live.count < Self.mostCards, let card = cards.first, cards.count == 1, card.stays, !card.isAppStarted,
            !card.hasClockChanged, !state.swiped.contains(activity), now - card.startedAt < age
        else { return nil }
        let known = try await server.knownPhone(device)
        let knownCard = try await server.knownCard(activity, on: device)
        guard known?.user == user, let token = state.startToken, known?.startTokens["Game"] == token,
            card.token != nil, knownCard.token == card.token
        else { return nil }
        return card
    }

    private func checkContinuation(of single: Single, in activity: String, before woken: Double) {
        let (phone, old) = (single.phone, single.card)
        let cards = phones[phone].cards.filter { $0.activity == activity && $0.startedAt >= old.startedAt }
        let live = cards.filter(\.stays)
        guard live.count == 1, live.first?.id != old.id else {
            let seen = live.isEmpty ? "no card" : live.map(\.id).joined(separator: " and ")
            return breaks(.continued, "phone\(phone) had \(old.id) and has \(seen)")
        }
        continued += cards.count - 1
        for card in cards where card.wasTold && card.goneAt ?? now < woken {
            if !phones[phone].endsTold.contains(card.id) { breaks(.continuationTold, card.id) }
        }
    }
}
