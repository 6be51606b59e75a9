@testable import TallyKit

/// A wake with nothing in the way, and what Tally must know after it.
extension Life {
    /// How often one piece of news may leave in a calm wake: once more if the ticket was refused, and once more if a report of
    /// the time before overtakes it.
    private static let mostRepeats = 3

    /// The app comes to the foreground, reaches Tally and its backend, and is not killed: that is "one wake".
    func wakeCalmly(_ phone: Int) async throws {
        areFaultsOn = false
        defer { areFaultsOn = true }
        isServerDown = false
        areTicketsRefused = false
        try await beginLate()
        try await goOnline(phone)
        phones[phone].process?.diesAfter = nil
        note("phone\(phone) has a calm wake")
        let began = now
        let withoutToken = Set(phones[phone].cards.filter { $0.token == nil }.map(\.id))
        if phones[phone].process?.isForeground == true { phones[phone].process?.isForeground = false }
        phones[phone].sentInWake = [:]
        try await run(phone, inForeground: true)
        // What the app is told in the first seconds counts. What it is told later, it reports in the time after.
        try await pass(3)
        let tokens = settledTokens(phone, began: began, withoutToken)
        let startToken = phones[phone].process?.isStartTokenTold == true ? phones[phone].startToken : nil
        try await pass(Self.wake - 3)
        try await checkPhone(phone, startToken: startToken)
        for (activity, cards) in cardsByActivity(phone) {
            try await checkCards(cards, of: activity, on: phone, since: began + 3, tokens)
            try await checkShown(cards, of: activity, on: phone, before: began, tokens)
        }
        for (news, times) in phones[phone].sentInWake where times > Self.mostRepeats {
            breaks(.quiet, "\(news.short) was sent \(times) times in one wake")
        }
    }

    func cardsByActivity(_ phone: Int) -> [(key: String, value: [PhoneCard])] {
        Dictionary(grouping: phones[phone].cards, by: \.activity).sorted { $0.key < $1.key }
    }

    /// Tokens, by card, that the app was told or can read.
    ///
    /// It reads when it comes to the foreground, and again while a card has no token. A token that changes later while the stream
    /// is silent, no library learns.
    private func settledTokens(_ phone: Int, began: Double, _ withoutToken: Set<String>) -> [String: String] {
        var tokens: [String: String] = [:]
        for card in phones[phone].cards where card.isLive {
            let isReadable = card.startedAt < began && (card.tokenAt < began || withoutToken.contains(card.id))
            if card.isTokenTold || isReadable { tokens[card.id] = card.token }
        }
        return tokens
    }

    private func checkPhone(_ phone: Int, startToken: String?) async throws {
        guard let device = phones[phone].kept?.deviceID else { return breaks(.startTokenKnown, "nothing is stored") }
        let known = try await server.knownPhone(device)
        // Of a stream that is silent and a property that stays empty, no library learns the token.
        if let startToken, startToken == phones[phone].startToken, known?.startTokens["Game"] != startToken {
            breaks(.startTokenKnown, "\(startToken), Tally has \(known?.startTokens["Game"] ?? "none")")
        }
        if known?.user != phones[phone].user {
            breaks(.userKnown, "\(phones[phone].user ?? "nobody"), Tally has \(known?.user ?? "nobody")")
        }
        // A phone that was never awake since the other was restored from its backup could not notice.
        for other in phones.indices
        where other != phone && phones[other].isThere && phones[other].hasWoken
            && phones[other].kept?.deviceID == device
        {
            breaks(.twoPhones, "both are \(device)")
        }
        phones[phone].hasWoken = true
    }

    private func checkCards(
        _ cards: [PhoneCard],
        of activity: String,
        on phone: Int,
        since: Double,
        _ tokens: [String: String]
    ) async throws {
        guard let device = phones[phone].kept?.deviceID else { return }
        let known = try await server.knownCard(activity, on: device)
        let live = cards.filter(\.stays)
        // Tally forgets the tokens of an activity that its backend has ended. Of two cards, the screen's check tells.
        if let card = live.first, live.count == 1, running.contains(activity), let token = tokens[card.id],
            token == card.token
        {
            if known.token != token {
                breaks(.cardKnown, "\(token) of \(card.id), Tally has \(known)")
            } else if kind == .tallyKit, card.begunAt < since - 3, known.isPending != (card.state == .pending) {
                // What begins during the wake is told in the time after it.
                breaks(.beginningKnown, "\(card.id) is \(card.state), Tally has \(known)")
            }
        }
        if !cards.contains(where: \.isLive), cards.allSatisfy({ $0.goneAt ?? now < since }), known != .none {
            breaks(.endKnown, "\(activity), Tally has \(known)")
        }
    }

    /// Whether Tally knows what a card of the sample showed when the wake began. Of later changes, a silent stream tells nothing.
    private func checkShown(
        _ cards: [PhoneCard],
        of activity: String,
        on phone: Int,
        before began: Double,
        _ tokens: [String: String]
    ) async throws {
        guard case .memory(let memory) = phones[phone].kept, running.contains(activity) else { return }
        let live = cards.filter(\.stays)
        guard let card = live.first, live.count == 1, let token = tokens[card.id], token == card.token,
            card.shownAt[card.revision] ?? now < began,
            Machine.lot(of: card.id, installation: memory.installation) < Self.receiptSampling
        else { return }
        let known = try await server.shownRevision(activity, on: memory.deviceID)
        if known < card.revision { breaks(.receiptKnown, "\(card.id) shows \(card.revision), Tally has \(known)") }
    }
}
