extension Machine {
    /// Somebody signed in or out. The ticket of the user before serves nobody any more.
    mutating func changeUser(signedOut: Bool, at now: Moment, _ actions: inout [Action]) {
        memory.session += 1
        memory.signedOut = signedOut
        memory.signOutConfirmed = nil
        memory.ticket = nil
        asked = nil
        ticketTrial = Trial()
        trials[.phone] = nil
        guard signedOut else { return }
        memory.starting = [:]
        for card in memory.cards.values.sorted(by: { $0.number < $1.number }) where card.isLive {
            endCard(card.id, .signedOut, &actions)
        }
    }
}
