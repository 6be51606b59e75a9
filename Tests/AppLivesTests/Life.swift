@testable import TallyKit

/// One life of an app on one or two phones.
final class Life {
    /// How long an app runs when it is woken, and nothing stands in its way.
    static let wake: Double = 60
    static let longestCard: Double = 8 * 3600
    /// The share of cards of which Tally wants receipts.
    static let receiptSampling = 0.5

    private struct Entry {
        let at: Double
        let phone: Int
        /// Nil: it happens also if the process has ended.
        let epoch: Int?
        let happening: Happening
    }

    let seed: UInt64
    let beginning: Double
    let kind: LibraryKind
    let server: any LifeServer
    /// After so many hours Tally continues a card; nil: never.
    let continueAfterHours: Int?
    var dice: Dice
    private(set) var now: Double = 0
    private var agenda: [Entry] = []
    private var numbers: [String: Int] = [:]
    var phones: [Phone] = []
    var users = ["anna", "ben"]
    /// Whose an activity is; nil: everybody's.
    var owners: [String: [String]?] = [:]
    /// Those that have not ended.
    var running: [String] = []
    /// One that runs to the end of the life, so that its cards are continued.
    var lasting: String?
    /// How many cards were continued while nothing failed.
    var continued = 0
    /// Those that an app was faster with than its backend.
    var late: [String] = []
    var isServerDown = false
    var areTicketsRefused = false
    /// Faults of the network, of streams and of Apple.
    var areFaultsOn = true
    var story: [String] = []
    var broken: [BrokenPromise] = []
    /// Phones on which a push has just started a card.
    var wakenByStart: [Int] = []
    var ticketsAsked: [AskedTicket] = []

    init(
        seed: UInt64,
        kind: LibraryKind,
        server: any LifeServer,
        beginning: Double,
        continueAfterHours: Int? = nil
    ) {
        self.seed = seed
        self.kind = kind
        self.server = server
        self.beginning = beginning
        self.continueAfterHours = continueAfterHours
        dice = Dice(seed: seed)
    }

    func note(_ text: String) { story.append("\((now * 100).rounded() / 100) \(text)") }

    func breaks(_ promise: Promise, _ detail: String) {
        // Common practice reports at each launch by design, which harms nobody.
        guard promise != .quiet || kind == .tallyKit else { return }
        let one = BrokenPromise(promise: promise, detail: "\(detail), at \((now * 100).rounded() / 100) s")
        note("BROKEN \(one)")
        broken.append(one)
    }

    /// Counts what has a name.
    func number(of name: String) -> Int {
        numbers[name, default: 0] += 1
        return numbers[name] ?? 0
    }

    /// The phone's clock.
    func clock(_ phone: Int) -> Double { beginning + now + phones[phone].clockOffset }

    // MARK: Time

    func plan(_ happening: Happening, on phone: Int, in seconds: Double, epoch: Int?) {
        let entry = Entry(at: now + seconds, phone: phone, epoch: epoch, happening: happening)
        let place = agenda.lastIndex { $0.at <= entry.at }.map { $0 + 1 } ?? 0
        agenda.insert(entry, at: place)
    }

    /// Lets time pass, with all that happens in it.
    func pass(_ seconds: Double) async throws {
        let end = now + seconds
        try await deliverPushes()
        while let time = [agenda.first?.at, server.nextWork].compactMap(\.self).min(), time <= end {
            try await move(to: max(now, time))
            if let next = agenda.first, next.at <= time {
                agenda.removeFirst()
                try await happen(next)
            }
            try await deliverPushes()
        }
        try await move(to: end)
        try await deliverPushes()
        checkScreens()
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
        case .answer(let number, let answer): deliver(answer, toReport: number, on: phone)
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
                phones[phone].process?.isForeground != true, !fault(10, .launch, phone)
            {
                try await run(phone, inForeground: false)
            }
        case .change(let activity, let number): try await change(activity, number)
        case .cardToken(let card): giveToken(to: card, on: phone)
        case .cardBegins(let card): begin(card, on: phone)
        case .cardAges(let card):
            guard let index = phones[phone].card(card), phones[phone].cards[index].isLive else { return }
            note("iOS ends \(card) after eight hours")
            turn(card, on: phone, .ended, by: .system)
            plan(.leaveScreen(card), on: phone, in: 4 * 3600, epoch: nil)
        case .leaveScreen(let card): turn(card, on: phone, .dismissed, by: .system)
        case .endByApp(let card): turn(card, on: phone, .dismissed, by: .app)
        case .overlapEnds(let card): checkOverlap(card, on: phone)
        }
        try await askForTickets()
    }
}
