import ActivityModel

@testable import APNSTransport

/// Promise 4: latest wins, alerts are kept.
extension Universe {
    func checkAlerts() async throws {
        let (phones, channels) = apple.with { ($0.phones, $0.channels) }
        let sendings = Sendings(apple.with { $0.sent })
        let rejected = try await rejectedTokens()
        let broken = apple.with { $0.brokenTurns }
        for match in matches {
            for phone in phones {
                for card in phone.cards where card.activity == match.id {
                    try checkHeardOnce(card, of: phone, sendings, broken)
                }
                guard let index = phone.newestCard(of: match.id) else { continue }
                let card = phone.cards[index]
                guard card.channel.map({ channels[$0] == true }) ?? true else { continue }
                // A token that Apple has rejected waits for a report or an operator (promise 9).
                guard card.updateToken.map({ !rejected.contains($0) }) ?? true else { continue }
                try checkTold(card, of: phone, match, sendings)
            }
        }
    }

    /// Each alert reaches a card that was there when it was accepted: the newest of all, and each that must be
    /// delivered; but an end waits for nothing but what rides on it.
    private func checkTold(_ card: Card, of phone: Phone, _ match: Match, _ sendings: Sendings) throws {
        // Of tokens that were replaced nobody knows what became of the pushes to them.
        guard card.isKnown, !card.isGone, !isHandedOver(card), card.tokens.count <= 1,
            let since = card.knownSince
        else { return }
        let told = match.accepted.filter { $0.alert != nil }
        let newest = told.max { $0.revision < $1.revision }
        let barriers = match.hasEnded ? [] : told.filter(\.mustDeliver)
        let heard = Set(sendings.to(card).compactMap(\.push.alert))
        for change in barriers + [newest].compactMap(\.self) where change.revision > since {
            // A phone whose app has become another is owed nothing of before: whether that app decodes it nobody has
            // asked. So is one that tells of its app after its card.
            guard decodes(phone, change.hasMinute), change.uptime > phone.knownApp?.since ?? -1 else { continue }
            guard let alert = change.alert, heard.contains(alert) else {
                throw BrokenPromise(4, "\(phone.id) never got '\(change.alert ?? "")' of \(match.id)")
            }
        }
    }

    /// No card hears an alert twice, unless what became of its push was not known: the answer was lost, or the daemon.
    private func checkHeardOnce(_ card: Card, of phone: Phone, _ sendings: Sendings, _ brokenTurns: Set<Int>) throws {
        let counts = Dictionary(grouping: card.alerts) { $0 }.mapValues(\.count)
        for (alert, count) in counts where count > 1 {
            let isInDoubt = (sendings.to(card) + sendings.to(phone.startTokens)).contains { sent in
                sent.push.alert == alert && (sent.outcome.class == .unknown || brokenTurns.contains(sent.turn.number))
            }
            guard isInDoubt else {
                throw BrokenPromise(4, "card \(card.number) of \(phone.id) heard '\(alert)' \(count) times")
            }
        }
    }
}

/// What left, by where it went.
private struct Sendings {
    private let byDestination: [String: [Apple.Sent]]

    init(_ sent: [Apple.Sent]) {
        byDestination = Dictionary(grouping: sent, by: \.destination)
    }

    func to(_ card: Card) -> [Apple.Sent] { to(card.tokens + [card.channel].compactMap(\.self)) }

    func to(_ destinations: [String]) -> [Apple.Sent] { destinations.flatMap { byDestination[$0] ?? [] } }
}
