import TestSupport

@testable import TallyKit

/// What apps commonly do: observe the streams of ActivityKit, report what they tell, and retry a failed report once.
///
/// It keeps nothing but its device id. It asks for a ticket with each report, and takes whatever has gone from the screen
/// for swiped away.
struct CommonPractice: Library {
    private static let retryAfter: Double = 5

    struct Stored: Hashable, Sendable {
        var deviceID: String
    }

    private struct Try {
        var news: News
        var count = 0
        var due: Moment?
    }

    private let stored: Stored
    private var facts: PhoneFacts?
    private var isSignedOut = false
    private var cards: [String: SeenCard] = [:]
    private var number = 0
    private var waiting: [Subject: Try] = [:]
    private var flights: [Int: Subject] = [:]
    private var asked: [TicketRequest: Subject] = [:]

    init(_ stored: Stored?, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        self.stored = stored ?? Stored(deviceID: "common-\(random.next())")
    }

    var kept: Kept { .common(stored) }
    var isBusy: Bool { false }

    mutating func handle(_ event: PhoneEvent, at now: Moment) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .launched(let facts):
            self.facts = facts
            reportPhone()
            actions.append(.save)
        case .startToken(let type, let token):
            facts?.startTokens[type] = token
            reportPhone()
        case .deviceToken(let token):
            facts?.deviceToken = token
            reportPhone()
        case .card(let card): see(card, &actions)
        case .ending(let card): cards[card.id] = nil
        case .signedIn, .signedOut:
            if case .signedOut = event { isSignedOut = true } else { isSignedOut = false }
            if isSignedOut { actions += cards.keys.sorted().map { .endCard($0) } }
            reportPhone()
        case .ticket(let ticket, let request, _):
            guard let subject = asked.removeValue(forKey: request), let tried = waiting[subject] else { break }
            if let ticket { send(subject, tried.news, ticket.ticket, &actions) } else { fail(subject, at: now) }
        case .answer(let number, let answer):
            guard let subject = flights.removeValue(forKey: number) else { break }
            if (200..<300).contains(answer.status) { waiting[subject] = nil } else { fail(subject, at: now) }
        case .noAnswer(let number):
            if let subject = flights.removeValue(forKey: number) { fail(subject, at: now) }
        case .sent: return []
        case .foreground, .active, .background, .timer, .read, .topics, .content, .starting, .notStarted: break
        }
        ask(at: now, &actions)
        if let next = waiting.values.compactMap(\.due).min() { actions.append(.wake(at: next)) }
        return actions
    }

    private mutating func see(_ card: SeenCard, _ actions: inout [Action]) {
        let before = cards[card.id]
        guard before != card else { return }
        cards[card.id] = card
        let news: CardNews
        if card.state.isOver {
            if before?.state.isOver != true, card.state == .dismissed {
                actions.append(.ended(CardEnding(activity: card.activity, card: card.id, cause: .user)))
            }
            news = CardNews(card: card.id, reach: .gone)
        } else if let token = card.updateToken, token != before?.updateToken {
            news = CardNews(card: card.id, reach: .token(token))
        } else {
            return
        }
        waiting[.activity(card.activity)] = Try(news: .card(news))
    }

    private mutating func reportPhone() {
        guard let facts else { return }
        waiting[.phone] = Try(news: .phone(facts, session: 0))
    }

    /// The first failure is tried once more; the second is forgotten.
    private mutating func fail(_ subject: Subject, at now: Moment) {
        waiting[subject]?.count += 1
        if waiting[subject]?.count ?? 2 > 1 {
            waiting[subject] = nil
        } else {
            waiting[subject]?.due = now + Self.retryAfter
        }
    }

    private mutating func ask(at now: Moment, _ actions: inout [Action]) {
        for (subject, tried) in waiting.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            guard tried.due ?? now <= now, !asked.values.contains(subject), !flights.values.contains(subject) else {
                continue
            }
            waiting[subject]?.due = nil
            let request = TicketRequest(
                deviceID: stored.deviceID,
                environment: "production",
                activities: subject.activity.map { [$0] },
                signedOut: isSignedOut,
                topics: nil
            )
            asked[request] = subject
            actions.append(.getTicket(request))
        }
    }

    private mutating func send(_ subject: Subject, _ news: News, _ ticket: String, _ actions: inout [Action]) {
        guard let facts else { return }
        number += 1
        flights[number] = subject
        actions.append(
            .send(
                Report(
                    number: number,
                    subject: subject,
                    deviceID: stored.deviceID,
                    installation: "",
                    ticket: ticket,
                    news: news,
                    facts: facts
                )
            )
        )
    }
}
