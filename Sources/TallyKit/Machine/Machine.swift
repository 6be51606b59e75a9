/// All decisions of TallyKit: events in, actions out. It has no clock and does nothing itself.
///
/// It keeps what Tally should know (``Memory/facts``, ``Memory/cards``) beside what Tally has confirmed, and reports
/// whatever differs. So a newer report replaces an older one, and nothing is lost with the process.
package struct Machine: Sendable {
    package internal(set) var memory: Memory
    var random: any RandomNumberGenerator & Sendable
    private let vendor: String?

    /// Reports on their way, by number.
    var flights: [Int: Flight] = [:]
    var trials: [Subject: Trial] = [:]
    /// The request for a ticket that has not been answered.
    var asked: TicketRequest?
    var ticketTrial = Trial()
    var ticketCount = 0
    /// When ActivityKit's properties were read last, and whether they are being read.
    var lastReading: Moment?
    /// Until the properties are read for a token that iOS has not given yet, and how many times they were.
    var tokenReading: Pause?
    var tokenReadings = 0
    var isReading = false
    /// Whether the event that is being handled is a reading, or the timer.
    var hasJustRead = false
    var isTimer = false
    /// Until the second reading after a launch is due.
    var secondReading: Pause?
    /// Cards that one reading did not find.
    var missing: Set<String> = []
    /// Cards that this process asked iOS to end.
    var endsAsked: Set<String> = []
    /// Since when the app is on the screen; nil while it is not.
    var onScreenSince: Moment?
    /// Until receipts wait for others, so that one request takes them all.
    var gathering: Pause?
    /// Problems that were told, until the subject succeeds.
    var told: Set<KitProblem> = []
    var wake: Moment?
    /// The part of ``wake`` that keeps the app awake.
    var nextReport: Moment?

    /// - Parameters:
    ///   - memory: What was stored; nil at the first launch.
    ///   - vendor: Apple's mark of this phone. A memory with another one was made on another phone.
    ///   - random: For ids and for the jitter of retries.
    package init(memory: Memory?, vendor: String?, random: any RandomNumberGenerator & Sendable) {
        var random = random
        if let memory, memory.vendor == nil || vendor == nil || memory.vendor == vendor {
            self.memory = memory
        } else {
            self.memory = Memory(vendor: vendor, deviceID: Self.id(&random), installation: Self.id(&random))
        }
        self.random = random
        self.vendor = vendor
    }

    /// Takes an event.
    ///
    /// - Returns: What is to be done, in this order.
    package mutating func handle(_ event: PhoneEvent, at now: Moment) -> [Action] {
        let before = memory
        var actions: [Action] = []
        secondReading = secondReading?.restarted(at: now)
        memory.lateStarts = memory.lateStarts?.restarted(at: now)
        for (id, card) in memory.cards where card.repeats != nil {
            memory.cards[id]?.repeats = card.repeats?.restarted(at: now)
        }
        (hasJustRead, isTimer) = (false, false)
        take(event, at: now, &actions)
        work(at: now, &actions)
        nextReport = nextReport(at: now)
        // The end of late starts and of repeats is worth no background time, and receipts are not, either.
        let ends =
            memory.cards.values.map { $0.repeats?.end(at: now) }
            + [memory.lateStarts?.end(at: now), nextReceipts(at: now), nextReport]
        let next = ends.compactMap(\.self).min()
        if next != wake {
            wake = next
            actions.append(.wake(at: next))
        }
        // A report is stored in the memory before it leaves.
        return memory == before ? actions : [.save] + actions
    }

    private mutating func take(_ event: PhoneEvent, at now: Moment, _ actions: inout [Action]) {
        switch event {
        case .launched(let facts): launch(facts, at: now)
        case .foreground: foreground(at: now)
        case .active: onScreenSince = onScreenSince ?? now
        case .background: onScreenSince = nil
        case .timer: (wake, isTimer) = (nil, true)
        case .read(let reading): take(reading, at: now, &actions)
        case .startToken(let type, let token):
            guard memory.facts?.startTokens[type] != token else { break }
            memory.facts?.startTokens[type] = token
            // A stream may be late. If the property says something else, that is newer.
            lastReading = nil
        case .deviceToken(let token): memory.facts?.deviceToken = token
        case .card(let card): see(card, at: now, &actions)
        case .content(let card, let revision):
            show(revision, on: card, since: isWatching(at: now) ? now : nil, at: now)
        case .starting(let activity, var start):
            // An older iOS gives the card an update token instead.
            if memory.facts?.knowsChannels == false { start.channel = nil }
            memory.starting[activity] = start
        case .notStarted(let activity): memory.starting[activity] = nil
        case .ending(let card):
            see(card, at: now, &actions)
            if memory.cards[card.id]?.endedByApp == nil { memory.cards[card.id]?.endedByApp = .asked }
        case .topics(let topics): memory.topics = Set(topics).sorted()
        case .signedIn(let user): signIn(user, at: now, &actions)
        case .signedOut: signOut(at: now, &actions)
        case .ticket(let ticket, let request, let failure): take(ticket, for: request, failure, at: now, &actions)
        case .sent(let number):
            if flights[number]?.report.subject == .phone { memory.hasToldUser = true }
        case .answer(let number, let answer): take(answer, to: number, at: now, &actions)
        case .noAnswer(let number): miss(number, at: now, &actions)
        }
    }

    /// What the last process knew stays: a token that iOS has not told yet is not "no token".
    private mutating func launch(_ new: PhoneFacts, at now: Moment) {
        var facts = memory.facts ?? new
        // Tokens of the other environment are of no use.
        if facts.environment != new.environment { facts = new }
        facts.osVersion = new.osVersion
        facts.appVersion = new.appVersion
        memory.facts = facts
        // Before the first unlock, iOS does not tell it.
        if memory.vendor == nil { memory.vendor = vendor }
        lastReading = nil
        secondReading = Pause(Self.secondReadingAfter, from: now)
        tokenReadings = 0
        forgetOldCards(at: now)
    }

    private mutating func foreground(at now: Moment) {
        lastReading = nil
        tokenReadings = 0
        // Answers may have been lost while the app was suspended.
        for (number, flight) in flights where now - flight.since > Self.suspectAfter || now < flight.since {
            flights[number]?.isDoubtful = true
        }
        for subject in trials.keys where trials[subject]?.parkedNews == nil { trials[subject] = nil }
        ticketTrial = Trial()
    }

    mutating func tell(_ problem: KitProblem, _ actions: inout [Action]) {
        if told.insert(problem).inserted { actions.append(.problem(problem)) }
    }

    mutating func settle(_ subject: Subject) {
        trials[subject] = nil
        told = told.filter { $0.activity != subject.activity }
    }

    /// A random id of 32 hex digits.
    static func id(_ random: inout any RandomNumberGenerator & Sendable) -> String {
        (0..<16).map { _ in
            let byte = String(UInt8.random(in: .min ... .max, using: &random), radix: 16)
            return byte.count == 1 ? "0" + byte : byte
        }
        .joined()
    }
}

extension Machine {
    /// A property may be empty at launch and filled soon after.
    static let secondReadingAfter: Double = 2
    /// While a card has no token, the properties are read so many times, with pauses that double.
    static let mostTokenReadings = 5
    /// If a report has no answer after so long, TallyKit sends it again when the app comes to the foreground.
    static let suspectAfter: Double = 30
    /// A report without an answer for so long is given up.
    static let givenUpAfter: Double = 120
    /// TallyKit reports again what Tally confirmed longer ago, in case Tally has lost it.
    static let confirmedFor: Double = 24 * 3600
    /// A reading serves reports for so long.
    static let readingServes: Double = 1
}

/// A report on its way.
struct Flight: Sendable {
    let report: Report
    let session: Int
    let since: Moment
    /// Whether the next report need not wait for its answer. The answer still counts, until the next report leaves.
    var isDoubtful = false
}
