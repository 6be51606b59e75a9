import TestSupport

@testable import TallyKit

/// A promise that a life broke.
struct BrokenPromise: Error, Hashable, CustomStringConvertible {
    let promise: Promise
    let detail: String

    var description: String { "\(promise.rawValue): \(detail)" }
}

/// What TallyKit promises.
enum Promise: String, CaseIterable, Sendable {
    case startTokenKnown = "Tally knows the start token within one wake"
    case cardKnown = "Tally knows the card's token within one wake"
    case endKnown = "Tally knows within one wake that a card is gone"
    case userKnown = "Tally knows within one wake who is signed in"
    case oneCard = "an activity has one card"
    case wantedStays = "a card that somebody wants is not ended"
    case staysDismissed = "a dismissed card does not come back"
    case rightCause = "the app is told rightly who ended a card"
    case nothingAfterSignOut = "nothing of a signed-out user stays"
    case twoPhones = "two phones are two devices"
    case quiet = "an app that has nothing new to say is quiet"
}

/// One life of an app on one or two phones.
final class Life {
    /// How long an app runs when it is woken, and nothing stands in its way.
    static let wake: Double = 60
    static let longestCard: Double = 8 * 3600
    static let longestOnScreen: Double = 12 * 3600

    private struct Entry {
        let at: Double
        let order: Int
        let phone: Int
        /// Nil: it happens also if the process has ended.
        let epoch: Int?
        let happening: Happening
    }

    let seed: UInt64
    let beginning: Double
    let kind: LibraryKind
    let server: any LifeServer
    var random: SeededRandom
    private(set) var now: Double = 0
    private var agenda: [Entry] = []
    private var counter = 0
    var phones: [Phone] = []
    var users = ["anna", "ben"]
    /// Whose an activity is; nil: everybody's.
    var owners: [String: [String]?] = [:]
    /// Those that have not ended.
    var running: [String] = []
    /// Those that an app was faster with than its backend.
    var late: [String] = []
    var isServerDown = false
    var areTicketsRefused = false
    /// Faults of the network, of streams and of Apple.
    var areFaultsOn = true
    var story: [String] = []
    var broken: [BrokenPromise] = []
    var reportCount = 0
    /// Phones on which a push has just started a card.
    var wakenByStart: [Int] = []

    init(seed: UInt64, kind: LibraryKind, server: any LifeServer, beginning: Double) {
        self.seed = seed
        self.kind = kind
        self.server = server
        self.beginning = beginning
        random = SeededRandom(seed: seed)
    }

    func note(_ text: String) { story.append("\((now * 100).rounded() / 100) \(text)") }

    func breaks(_ promise: Promise, _ detail: String) {
        let one = BrokenPromise(promise: promise, detail: "\(detail), at \((now * 100).rounded() / 100) s")
        note("BROKEN \(one)")
        broken.append(one)
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// A fault that may come only while faults are on.
    func fault(_ percent: Int) -> Bool { chance(percent) && areFaultsOn }

    func number() -> Int {
        counter += 1
        return counter
    }

    /// The phone's clock.
    func clock(_ phone: Int) -> Moment { beginning + now + phones[phone].clockOffset }

    // MARK: Time

    func plan(_ happening: Happening, on phone: Int, in seconds: Double, epoch: Int?) {
        let entry = Entry(at: now + seconds, order: number(), phone: phone, epoch: epoch, happening: happening)
        let place = agenda.lastIndex { $0.at <= entry.at }.map { $0 + 1 } ?? 0
        agenda.insert(entry, at: place)
    }

    /// Lets time pass, with all that happens in it.
    func pass(_ seconds: Double) async throws {
        let end = now + seconds
        while let next = agenda.first, next.at <= end {
            agenda.removeFirst()
            try await move(to: max(now, next.at))
            try await happen(next)
            try await deliverPushes()
        }
        try await move(to: end)
        try await deliverPushes()
    }

    private func move(to time: Double) async throws {
        guard time > now else { return }
        now = time
        try await server.setTime(time)
    }

    private func happen(_ entry: Entry) async throws {
        let phone = entry.phone
        if let epoch = entry.epoch {
            guard let process = phones[phone].process, process.epoch == epoch else { return }
            if process.isSuspended {
                phones[phone].process?.held.append(entry.happening)
                return
            }
        }
        try await happen(entry.happening, on: phone)
    }

    func happen(_ happening: Happening, on phone: Int) async throws {
        switch happening {
        case .stream(let news): tell(news, on: phone)
        case .ticket(let request, let ticket):
            deliver(.ticket(ticket, for: request, failure: ticket == nil ? "no ticket" : nil), to: phone)
        case .answer(let number, let answer):
            guard phones[phone].process?.onTheWay.removeValue(forKey: number) != nil else { return }
            if answer == nil { phones[phone].hasLostAnswer = true }
            deliver(answer.map { .answer(number, $0) } ?? .noAnswer(number), to: phone)
        case .timer(let number):
            if phones[phone].process?.timer == number { deliver(.timer, to: phone) }
        case .suspend(let number):
            if phones[phone].process?.suspension == number { suspend(phone) }
        case .report(let report, let isLost, let isByIOS):
            try await arrive(report, from: phone, isLost: isLost, isByIOS: isByIOS)
        case .push(let push):
            receive(push, on: phone)
            // iOS launches the app for a card that a push has started, unless the user has quit it.
            if let phone = wakenByStart.popLast(), !phones[phone].isForceQuit,
                phones[phone].process?.isForeground != true,
                !fault(10)
            {
                try await run(phone, inForeground: false)
            }
        case .cardToken(let card): giveToken(to: card, on: phone)
        case .cardAges(let card):
            guard let index = phones[phone].card(card), phones[phone].cards[index].isLive else { return }
            note("iOS ends \(card) after eight hours")
            turn(card, on: phone, .ended, by: .system)
            plan(.leaveScreen(card), on: phone, in: 4 * 3600, epoch: nil)
        case .leaveScreen(let card): turn(card, on: phone, .dismissed, by: .system)
        case .endByApp(let card): turn(card, on: phone, .dismissed, by: .app)
        }
        try await askForTickets()
    }

    // MARK: Tickets

    private var ticketsAsked: [(phone: Int, epoch: Int, request: TicketRequest)] = []

    /// The app's backend asks Tally, which takes a moment.
    func askForTickets() async throws {
        while !ticketsAsked.isEmpty {
            let (phone, epoch, request) = ticketsAsked.removeFirst()
            var ticket: Ticket?
            if phones[phone].isOnline, !isServerDown, !areTicketsRefused, !fault(5) {
                ticket = try await server.ticket(request, user: phones[phone].user)
            }
            plan(.ticket(request, ticket), on: phone, in: .random(in: 0.05...2, using: &random), epoch: epoch)
        }
    }

    // MARK: The library's events and actions

    /// Hands an event to the library, and does what it says. The process may die between any two actions.
    func deliver(_ event: Event, to phone: Int) {
        var events = [event]
        while !events.isEmpty, let process = phones[phone].process {
            let (time, event) = (clock(phone), events.removeFirst())
            let actions = phones[phone].process?.library.handle(event, at: time)
            for action in actions ?? [] {
                if let left = phones[phone].process?.diesAfter {
                    if left == 0 { return kill(phone) }
                    phones[phone].process?.diesAfter = left - 1
                }
                perform(action, on: phone, process.epoch, &events)
            }
        }
    }

    private func perform(_ action: Action, on phone: Int, _ epoch: Int, _ events: inout [Event]) {
        switch action {
        case .save: phones[phone].kept = phones[phone].process?.library.kept
        case .read: events.append(.read(reading(phone)))
        case .getTicket(let request): ticketsAsked.append((phone, epoch, request))
        case .send(let report): send(report, from: phone, epoch)
        case .endCard(let card):
            note("the app ends \(card)")
            checkEnd(of: card, on: phone)
            endByApp(card, on: phone)
        case .wake(let moment):
            phones[phone].process?.timer += 1
            guard let moment, let timer = phones[phone].process?.timer else { return }
            plan(.timer(timer), on: phone, in: max(0, moment - clock(phone)), epoch: epoch)
        case .problem(let problem): note("problem: \(problem)")
        case .ended(let ending):
            note("the app hears that \(ending.card) was ended by \(ending.cause)")
            guard let index = phones[phone].card(ending.card) else { return }
            guard let cause = phones[phone].cards[index].cause else {
                // It may live on behind properties that were empty, or an end that has just begun.
                if ending.cause == .user || ending.cause == .system {
                    breaks(.rightCause, "\(ending.card) is live, told: \(ending.cause)")
                }
                return
            }
            let isAsked = phones[phone].cards[index].isEndAsked && ending.cause == .app
            if !isAsked, !cause.agrees(with: ending.cause) {
                breaks(.rightCause, "\(ending.card) was ended by \(cause), told: \(ending.cause)")
            }
        }
    }

    // MARK: Reports

    private func send(_ report: Report, from phone: Int, _ epoch: Int) {
        reportCount += 1
        phones[phone].process?.onTheWay[report.number] = report
        note("phone\(phone) sends \(report.number) \(report.news.short)")
        guard phones[phone].isOnline else {
            return plan(.answer(report.number, nil), on: phone, in: .random(in: 0.01...1, using: &random), epoch: epoch)
        }
        let delay = fault(5) ? Double.random(in: 1...15, using: &random) : .random(in: 0.02...0.6, using: &random)
        // What has left goes on without the process, most of the time.
        plan(.report(report, isLost: fault(5), isByIOS: false), on: phone, in: delay, epoch: chance(50) ? epoch : nil)
    }

    private func arrive(_ report: Report, from phone: Int, isLost: Bool, isByIOS: Bool) async throws {
        guard phones[phone].isThere else { return }
        guard phones[phone].isOnline || !isByIOS else {
            // iOS tries again for hours.
            return plan(.report(report, isLost: false, isByIOS: true), on: phone, in: 1800, epoch: nil)
        }
        let answer: Answer?
        if isServerDown {
            answer = chance(50) ? nil : Answer(status: 503)
        } else if fault(4) {
            answer = Answer(
                status: [429, 502, 503].randomElement(using: &random) ?? 503,
                retryAfter: chance(50) ? 20 : nil
            )
        } else {
            let taken = try await server.take(report, isNumbered: type(of: library(phone)).numbersReports)
            note(
                "Tally takes \(report.number) of phone\(phone) \(report.news.short): \(taken.status) \(taken.body.reason ?? "")"
            )
            answer = isLost ? nil : taken
            if phones[phone].userKnownAt == nil,
                try await server.knownPhone(report.deviceID)?.user == phones[phone].user
            {
                phones[phone].userKnownAt = now
            }
        }
        let pause = answer == nil ? Double.random(in: 1...20, using: &random) : .random(in: 0.02...0.6, using: &random)
        guard let process = phones[phone].process else { return }
        plan(.answer(report.number, answer), on: phone, in: pause, epoch: process.epoch)
    }

    private func library(_ phone: Int) -> any Library {
        phones[phone].process?.library ?? kind.make(from: nil, vendor: nil, seed: 0)
    }

    // MARK: Pushes

    private func deliverPushes() async throws {
        for push in try await server.work() {
            // Some are late, whatever the reason.
            let delay = fault(10) ? Double.random(in: 2...300, using: &random) : .random(in: 0.1...2, using: &random)
            for phone in phones.indices { plan(.push(push), on: phone, in: delay, epoch: nil) }
        }
    }
}

extension News {
    var short: String {
        switch self {
        case .phone(let facts, let session): "phone \(facts.startTokens["Game"] ?? "-") session \(session)"
        case .card(let news): "\(news.card) \(news.reach)"
        }
    }
}
