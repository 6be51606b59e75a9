@testable import TallyKit

/// A wake with nothing in the way, and what must hold after it.
extension Life {
    func wakeCalmly(_ phone: Int) async throws {
        areFaultsOn = false
        defer { areFaultsOn = true }
        isServerDown = false
        areTicketsRefused = false
        try await beginLate()
        try await goOnline(phone)
        phones[phone].process?.diesAfter = nil
        note("phone\(phone) has a calm wake")
        let isPaused = phones[phone].kept?.isPaused(at: clock(phone)) == true
        if phones[phone].process?.isForeground == true { phones[phone].process?.isForeground = false }
        try await run(phone, inForeground: true)
        try await pass(3)
        let since = now
        let before = reportCount
        let tokens = settledTokens(phone)
        let startToken = phones[phone].process?.isStartTokenTold == true ? phones[phone].startToken : nil
        try await pass(Self.wake - 3)
        // Tally asked to be left alone, so it could not be reached.
        guard !isPaused, phones[phone].process != nil else { return }
        try await check(phone, since: since, startToken: startToken, tokens: tokens)
        if reportCount - before > 25 { breaks(.quiet, "\(reportCount - before) reports in one wake") }
    }

    /// Whether the app may end a card that a push has started.
    func checkEnd(of id: String, on phone: Int) {
        guard let index = phones[phone].card(id) else { return }
        let card = phones[phone].cards[index]
        guard card.isLive, !card.isAppStarted, !card.isEndAsked, let user = phones[phone].user else { return }
        guard !phones[phone].isSigningOut, !phones[phone].hasLostAnswer else { return }
        let others = phones[phone].cards.contains { $0.activity == card.activity && $0.id != id && $0.isLive }
        guard !others, !phones[phone].swiped.contains(card.activity),
            phones[phone].userKnownAt ?? .infinity < card.startedAt,
            (owners[card.activity] ?? nil)?.contains(user) ?? true
        else { return }
        breaks(.wantedStays, "\(id) of \(card.activity)")
    }

    /// Tokens of cards that were told, by card.
    private func settledTokens(_ phone: Int) -> [String: String] {
        var tokens: [String: String] = [:]
        for card in phones[phone].cards where card.isLive && card.isTokenTold { tokens[card.id] = card.token }
        return tokens
    }

    private func check(_ phone: Int, since: Double, startToken: String?, tokens: [String: String]) async throws {
        guard let device = phones[phone].kept?.deviceID else { return breaks(.startTokenKnown, "nothing is stored") }
        let known = try await server.knownPhone(device)
        if let startToken, startToken == phones[phone].startToken, known?.startTokens["Game"] != startToken {
            breaks(.startTokenKnown, "\(startToken), Tally has \(known?.startTokens["Game"] ?? "none")")
        }
        if known?.user != phones[phone].user {
            breaks(.userKnown, "\(phones[phone].user ?? "nobody"), Tally has \(known?.user ?? "nobody")")
        }
        for other in phones.indices
        where other != phone && phones[other].isThere && phones[other].hasWoken
            && phones[other].kept?.deviceID == device
        {
            breaks(.twoPhones, "both are \(device)")
        }
        phones[phone].hasWoken = true
        for (activity, cards) in Dictionary(grouping: phones[phone].cards, by: \.activity).sorted(by: {
            $0.key < $1.key
        }) {
            try await check(cards, of: activity, on: phone, device, since: since, tokens)
        }
    }

    private func check(
        _ cards: [PhoneCard],
        of activity: String,
        on phone: Int,
        _ device: String,
        since: Double,
        _ tokens: [String: String]
    ) async throws {
        let live = cards.filter { $0.isLive && $0.startedAt < since && phones[phone].kept?.knows(card: $0.id) == true }
        let known = try await server.knownCard(activity, on: device)
        if live.count > 1 { breaks(.oneCard, live.map(\.id).joined(separator: " and ")) }
        if let card = live.first, live.count == 1 {
            if phones[phone].dismissed.contains(activity), !card.isAppStarted {
                breaks(.staysDismissed, "\(card.id) of \(activity)")
            }
            if let owners = owners[activity] ?? nil, !owners.contains(phones[phone].user ?? ""),
                phones[phone].user == nil || card.startedAt < phones[phone].userKnownAt ?? .infinity
            {
                breaks(
                    .nothingAfterSignOut,
                    "\(card.id) of \(owners.joined()), \(phones[phone].user ?? "nobody") is here"
                )
            }
            if running.contains(activity), let token = tokens[card.id], token == card.token, known != .token(token) {
                breaks(.cardKnown, "\(token) of \(card.id), Tally has \(known)")
            }
        }
        let wereKnown = cards.contains { phones[phone].kept?.knows(card: $0.id) == true }
        if wereKnown, !cards.contains(where: \.isLive), cards.allSatisfy({ $0.goneAt ?? now < since }), known != .none {
            breaks(.endKnown, "\(activity), Tally has \(known)")
        }
    }
}
