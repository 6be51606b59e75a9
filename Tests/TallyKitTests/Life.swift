import Foundation
import TallyKit

/// A machine with the world around it, for tests: what it asks for is at hand, and what it does is kept.
struct Life {
    /// 2026-03-01T17:00:00Z
    static let start: Moment = 1_772_384_400

    var machine: Machine
    var now = Life.start
    /// What ActivityKit's properties say.
    var reading = Reading(types: ["GameAttributes"], activitiesEnabled: true, frequentPushesEnabled: false)
    /// Nil: the backend gives no ticket.
    var ticketLife: Double? = 3600
    var tickets: [TicketRequest] = []
    /// Reports that have no answer yet, the oldest first.
    var onTheWay: [Report] = []
    var sent: [Report] = []
    var problems: [KitProblem] = []
    var endings: [CardEnding] = []
    var endedCards: [String] = []
    var wake: Moment?
    /// The share of cards of which Tally wants receipts; nil: its answers do not say it.
    var receiptSampling: Double?
    /// What was stored last.
    var stored: Memory?
    /// The process dies after so many more actions.
    var diesAfter: Int?

    init(memory: Memory? = nil, vendor: String? = "this phone", seed: UInt64 = 1) {
        machine = Machine(memory: memory, vendor: vendor, random: Random(state: seed))
        stored = memory
    }

    /// A life whose phone and tickets Tally knows already.
    static func settled() -> Life {
        var life = Life()
        life.launch()
        life.answerAll()
        life.pass(3)
        life.sent = []
        return life
    }

    mutating func launch(
        environment: String = "production",
        osVersion: String = "18.1",
        appVersion: String = "2.10"
    ) {
        handle(.launched(PhoneFacts(environment: environment, osVersion: osVersion, appVersion: appVersion)))
    }

    /// The process ends at once, and the app is launched again.
    mutating func relaunch(vendor: String? = "this phone") {
        machine = Machine(memory: stored, vendor: vendor, random: Random(state: 2))
        onTheWay = []
        diesAfter = nil
        launch()
    }

    mutating func handle(_ event: PhoneEvent) {
        var events = [event]
        while !events.isEmpty {
            for action in machine.handle(events.removeFirst(), at: now) {
                if let left = diesAfter {
                    if left == 0 { return }
                    diesAfter = left - 1
                }
                switch action {
                case .save: stored = machine.memory
                case .read: events.append(.read(reading))
                case .getTicket(let request):
                    tickets.append(request)
                    let ticket = ticketLife.map {
                        Ticket("ticket-\(tickets.count)", expiresAt: Date(timeIntervalSince1970: Life.start + $0))
                    }
                    events.append(.ticket(ticket, for: request, failure: ticket == nil ? "no network" : nil))
                case .send(let report):
                    onTheWay.append(report)
                    sent.append(report)
                    events.append(.sent(report.number))
                case .endCard(let card):
                    endedCards.append(card)
                    reading.cards.removeAll { $0.id == card }
                case .wake(let moment): wake = moment
                case .problem(let problem): problems.append(problem)
                case .ended(let ending): endings.append(ending)
                }
            }
        }
    }

    /// Answers the oldest report; nil: Tally takes it.
    mutating func answer(_ answer: Answer? = nil) {
        guard !onTheWay.isEmpty else { return }
        let taken = Answer(status: 200, body: AnswerBody(accepted: true, receiptSampling: receiptSampling))
        handle(.answer(onTheWay.removeFirst().number, answer ?? taken))
    }

    /// Takes every report, and those that follow from it.
    mutating func answerAll() {
        while !onTheWay.isEmpty { answer() }
    }

    /// Lets the time pass up to the next wake, if it is within so many seconds.
    mutating func pass(_ seconds: Double) {
        let end = now + seconds
        while let next = wake, next <= end {
            now = max(now, next)
            wake = nil
            handle(.timer)
        }
        now = end
    }

    /// Lets the time pass up to the next wake.
    mutating func passToWake() {
        pass((wake ?? now) - now)
    }

    /// A card appears on the screen, with a token unless told otherwise.
    mutating func appear(
        _ id: String,
        of activity: String = "final",
        token: String? = "aa01",
        revision: Int? = nil
    ) {
        var card = SeenCard(id: id, activity: activity, type: "GameAttributes", updateToken: token)
        card.revision = revision
        reading.cards.append(card)
        handle(.card(card))
    }

    /// A push changes what a card shows, and a stream tells it unless it is silent.
    mutating func show(_ id: String, _ revision: Int, isTold: Bool = true) {
        guard let index = reading.cards.firstIndex(where: { $0.id == id }) else { return }
        reading.cards[index].revision = revision
        if isTold { handle(.content(card: id, revision: revision)) }
    }

    /// The app schedules a card.
    mutating func schedule(_ id: String, of activity: String = "final", token: String?) {
        let card = SeenCard(id: id, activity: activity, type: "GameAttributes", state: .pending, updateToken: token)
        reading.cards.append(card)
        handle(.card(card))
    }

    mutating func turn(_ id: String, _ state: CardState) {
        guard let index = reading.cards.firstIndex(where: { $0.id == id }) else { return }
        reading.cards[index].state = state
        var card = reading.cards[index]
        card.isFromStates = true
        card.revision = nil
        if state == .dismissed { reading.cards.remove(at: index) }
        handle(.card(card))
    }

    /// What was last reported of the only activity.
    var reportedCard: CardNews? {
        sent.last { $0.subject == .activity("final") }.flatMap {
            if case .card(let card) = $0.news { card } else { nil }
        }
    }

    /// What was last reported of an activity.
    func reported(_ activity: String = "final") -> CardNews.Reach? {
        sent.last { $0.subject == .activity(activity) }.flatMap {
            if case .card(let card) = $0.news { card.reach } else { nil }
        }
    }

    /// The receipts of each report that had some.
    var receipts: [[Receipt]] {
        sent.compactMap { if case .receipts(let receipts) = $0.news { receipts } else { nil } }
    }

    var reportedFacts: PhoneFacts? {
        sent.last { $0.subject == .phone }.flatMap { if case .phone(let facts, _) = $0.news { facts } else { nil } }
    }
}

/// Numbers that are the same in every run.
struct Random: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
