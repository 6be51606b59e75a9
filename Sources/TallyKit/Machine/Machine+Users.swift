extension Machine {
    /// Apps say it at each launch, so the user who is known already changes nothing.
    mutating func signIn(_ user: String, at now: Moment, _ actions: inout [Action]) {
        guard memory.user != user else { return }
        let before = memory.user
        changeUser(to: user)
        if memory.leaver == user { memory.leaver = nil }
        // They did not sign out.
        if let before { leave(before, at: now, &actions) }
    }

    mutating func signOut(at now: Moment, _ actions: inout [Action]) {
        let before = memory.user
        changeUser(to: nil)
        leave(before ?? "", at: now, &actions)
    }

    /// The ticket of the user before serves nobody any more.
    private mutating func changeUser(to user: String?) {
        memory.session += 1
        memory.user = user
        memory.signedOut = user == nil
        memory.lateStarts = nil
        memory.hasToldUser = false
        memory.ticket = nil
        asked = nil
        ticketTrial = Trial()
        trials[.phone] = nil
        trials[.topics] = nil
        trials[.receipts] = nil
    }

    /// All cards of the user who leaves end.
    private mutating func leave(_ user: String, at now: Moment, _ actions: inout [Action]) {
        memory.leaver = user
        memory.starting = [:]
        memory.lastCardOfLeaver = memory.cardCount
        for id in memory.cards.keys { memory.cards[id]?.shown = nil }
        for card in memory.cards.values.sorted(by: { $0.number < $1.number }) where card.isLive {
            endCard(card.id, .signedOut, at: now, &actions)
        }
    }
}
