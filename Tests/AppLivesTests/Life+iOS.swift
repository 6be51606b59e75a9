@testable import TallyKit

/// What iOS does: cards, tokens, streams, processes.
extension Life {
    // MARK: Processes

    /// Launches the app, or lets it go on where it was suspended.
    func run(_ phone: Int, inForeground: Bool) async throws {
        if inForeground, phones[phone].isForceQuit {
            phones[phone].isForceQuit = false
            server.apple.setForceQuit(false, phone)
        }
        if phones[phone].process == nil {
            launch(phone, inForeground: inForeground)
        } else {
            let held = phones[phone].process?.held ?? []
            let wasForeground = phones[phone].process?.isForeground == true
            phones[phone].process?.held = []
            if phones[phone].process?.isSuspended == true { phones[phone].process?.awakeSince = now }
            phones[phone].process?.isSuspended = false
            phones[phone].process?.suspension += 1
            if inForeground, !wasForeground {
                phones[phone].process?.isForeground = true
                note("phone\(phone) comes to the foreground")
                deliver(.foreground, to: phone)
                deliver(.active, to: phone)
            }
            for happening in held where phones[phone].process?.isSuspended == false {
                try await happen(happening, on: phone)
            }
        }
        if phones[phone].process?.isForeground == false { planSuspension(phone) }
        try await askForTickets()
    }

    private func launch(_ phone: Int, inForeground: Bool) {
        note("phone\(phone) launches the app\(inForeground ? "" : " in the background")")
        var silent: Set<String> = []
        for stream in ["start", "cards", "tokens", "states"] where fault(15, .silentStreams, phone) {
            silent.insert(stream)
        }
        if fault(15, .content, phone) { silent.insert("contents") }
        var random = dice.next(.librarySeed, phone)
        let library = kind.make(from: phones[phone].kept, vendor: phones[phone].vendor, seed: random.next())
        phones[phone].process = AppProcess(
            library: library,
            epoch: number(of: "process"),
            isForeground: inForeground,
            silentStreams: silent,
            hasEmptyTokenProperty: chance(15, .properties, phone),
            propertiesSince: now + seconds(0...0, or: 0.1...1.5, percent: 25, .properties, phone),
            awakeSince: now
        )
        deliver(
            .launched(PhoneFacts(environment: "production", osVersion: "18.1", appVersion: "1.0")),
            to: phone
        )
        if let user = phones[phone].user { deliver(.signedIn(user), to: phone) }
        if phones[phone].process != nil { phones[phone].isSigningOut = false }
        // follow(_:) reads the properties and listens.
        if let token = visibleStartToken(phone) {
            phones[phone].process?.isStartTokenTold = true
            deliver(.startToken(type: "Game", token: token), to: phone)
        }
        if let token = phones[phone].startToken { announce(.startToken(token), on: phone) }
        for card in visibleCards(phone) { watch(card.id, on: phone) }
        for card in phones[phone].cards where card.isLive { announce(.appeared(card: card.id), on: phone) }
        if inForeground { deliver(.active, to: phone) }
    }

    func suspend(_ phone: Int) {
        guard let process = phones[phone].process, !process.isSuspended else { return }
        note("phone\(phone) suspends the app")
        phones[phone].process?.isSuspended = true
        phones[phone].process?.isForeground = false
        guard process.library.isBusy else { return }
        // TallyKit hands over to iOS what has no answer.
        for report in process.onTheWay.values.sorted(by: { $0.number < $1.number }) where report.subject.mayComeLate {
            var random = dice.next(.handOver, phone)
            let delay = Double.random(in: random.hits(70) ? 1...20 : 20...7200, using: &random)
            plan(.report(report, isLost: false, isByIOS: true), on: phone, in: delay, epoch: nil)
        }
        // The connections of the app itself break.
        for number in process.onTheWay.keys.sorted() where chance(50, .handOver, phone) {
            plan(.answer(number, nil), on: phone, in: seconds(0.1...20, .handOver, phone), epoch: process.epoch)
        }
    }

    /// In the background the app soon sleeps; a little later if it asks for time.
    func planSuspension(_ phone: Int) {
        guard let process = phones[phone].process else { return }
        phones[phone].process?.suspension += 1
        let time = seconds(process.library.isBusy ? 5...30 : 1...8, .suspension, phone)
        plan(.suspend(process.suspension + 1), on: phone, in: time, epoch: process.epoch)
    }

    func kill(_ phone: Int) {
        guard phones[phone].process != nil else { return }
        note("the app of phone\(phone) dies")
        phones[phone].process = nil
        for card in phones[phone].cards.indices { phones[phone].cards[card].isTokenTold = false }
    }

    // MARK: Properties and streams

    private func visibleStartToken(_ phone: Int) -> String? {
        guard let process = phones[phone].process, !process.hasEmptyTokenProperty, now >= process.propertiesSince else {
            return nil
        }
        return phones[phone].startToken
    }

    func visibleCards(_ phone: Int) -> [PhoneCard] {
        guard let process = phones[phone].process, now >= process.propertiesSince else { return [] }
        return phones[phone].cards.filter { $0.state != .dismissed }
    }

    func reading(_ phone: Int) -> Reading {
        var reading = Reading(types: ["Game"], activitiesEnabled: true, frequentPushesEnabled: false)
        if let token = visibleStartToken(phone) {
            reading.startTokens["Game"] = token
            phones[phone].process?.isStartTokenTold = true
        }
        for card in visibleCards(phone) {
            reading.cards.append(readProperties(card))
            noteTold(card.id, on: phone)
            if let index = phones[phone].card(card.id) { phones[phone].cards[index].isTokenTold = card.token != nil }
        }
        return reading
    }

    func readProperties(_ card: PhoneCard) -> SeenCard {
        var properties = seen(card)
        properties.revision = card.revision
        return properties
    }

    /// As the shell reads a card.
    func seen(_ card: PhoneCard, token: String? = nil, state: CardState? = nil) -> SeenCard {
        SeenCard(
            id: card.id,
            activity: card.activity,
            type: "Game",
            state: state ?? card.state,
            updateToken: card.token ?? token,
            isFromStates: state != nil
        )
    }

    /// The shell listens to a card's streams once it has seen the card.
    func watch(_ id: String, on phone: Int) {
        guard let index = phones[phone].card(id), phones[phone].process?.watched.insert(id).inserted == true else {
            return
        }
        let card = phones[phone].cards[index]
        if !card.state.isOver { phones[phone].process?.watchedLive.insert(id) }
        phones[phone].cards[index].isTokenTold = card.token != nil
        noteTold(id, on: phone)
        deliver(.card(readProperties(card)), to: phone)
        if let token = card.token { announce(.token(card: id, token), on: phone) }
        // Nobody has said whether the stream begins with what is there.
        if chance(50, .content, phone) { announce(.content(card: id, revision: card.revision), on: phone) }
    }

    /// The process was told of a card.
    func noteTold(_ id: String, on phone: Int) {
        if phones[phone].process?.told[id] == nil { phones[phone].process?.told[id] = now }
        if let index = phones[phone].card(id), phones[phone].cards[index].firstToldAt == nil {
            phones[phone].cards[index].firstToldAt = now
        }
    }

    /// Streams are late by no more.
    static let latestStream: Double = 90

    /// Something for a stream of the process that runs, in its order; it may be late, doubled or never come.
    func announce(_ news: StreamNews, on phone: Int) {
        guard let process = phones[phone].process else { return }
        guard !process.silentStreams.contains(String(news.stream.prefix { $0 != " " })) else { return }
        var delay = seconds(0...0.5, or: 1...Self.latestStream, percent: 10, news.chance, phone)
        delay = max(delay, (process.streamFree[news.stream] ?? 0) - now)
        phones[phone].process?.streamFree[news.stream] = now + delay
        for _ in 0..<(fault(8, news.chance, phone) ? 2 : 1) {
            plan(.stream(news), on: phone, in: delay, epoch: process.epoch)
        }
    }

    func tell(_ news: StreamNews, on phone: Int) {
        switch news {
        case .startToken(let token):
            if token == phones[phone].startToken { phones[phone].process?.isStartTokenTold = true }
            deliver(.startToken(type: "Game", token: token), to: phone)
        case .appeared(let id): watch(id, on: phone)
        case .token(let id, let token):
            guard let index = phones[phone].card(id), phones[phone].process?.watched.contains(id) == true else {
                return
            }
            phones[phone].cards[index].isTokenTold = true
            deliver(.card(seen(phones[phone].cards[index], token: token)), to: phone)
        case .state(let id, let state):
            guard let index = phones[phone].card(id), phones[phone].process?.watched.contains(id) == true else {
                return
            }
            var news = seen(phones[phone].cards[index], state: state)
            news.isFromStates = phones[phone].process?.watchedLive.contains(id) == true
            if state == .ended { phones[phone].process?.toldEnded.insert(id) }
            if state == .dismissed, news.isFromStates { phones[phone].process?.toldDismissed.insert(id) }
            deliver(.card(news), to: phone)
        case .content(let id, let revision):
            guard phones[phone].process?.watched.contains(id) == true else { return }
            deliver(.content(card: id, revision: revision), to: phone)
        }
    }

    // MARK: Cards and tokens

    func newToken(_ kind: String, on phone: Int) -> String {
        phones[phone].handedOut += 1
        let text = String(seed, radix: 16) + "f" + String(phones[phone].handedOut, radix: 16)
        return kind + String(phones[phone].number) + (text.count.isMultiple(of: 2) ? "" : "0") + text
    }

    func giveStartToken(_ phone: Int) {
        let token = newToken("a", on: phone)
        server.apple.give(token, inPlaceOf: phones[phone].startToken, to: phone)
        phones[phone].startToken = token
        phones[phone].process?.isStartTokenTold = false
        note("iOS gives phone\(phone) the start token \(token)")
        announce(.startToken(token), on: phone)
    }

    func giveToken(to id: String, on phone: Int) {
        guard let index = phones[phone].card(id), phones[phone].cards[index].isLive else { return }
        let token = newToken("b", on: phone)
        note("iOS gives \(id) the token \(token)")
        server.apple.give(token, to: phones[phone].cards[index], on: phone)
        phones[phone].cards[index].token = token
        phones[phone].cards[index].tokenAt = now
        phones[phone].cards[index].isTokenTold = false
        announce(.token(card: id, token), on: phone)
    }

    /// `age`: for how long Apple has counted its eight hours.
    func addCard(
        of activity: String,
        number: Int,
        isAppStarted: Bool,
        isScheduled: Bool = false,
        revision: Int,
        age: Double = 0,
        on phone: Int
    ) -> String {
        let name = "card\(phones[phone].number)"
        let id = "\(name)-\(self.number(of: name))-\(seed)"
        phones[phone].cards.append(
            PhoneCard(
                id: id,
                number: number,
                activity: activity,
                startedAt: now,
                startedAtByPhone: clock(phone),
                isAppStarted: isAppStarted,
                revision: revision,
                shownAt: [revision: now]
            )
        )
        if isScheduled, let index = phones[phone].card(id) {
            note("\(id) is scheduled")
            phones[phone].cards[index].state = .pending
            plan(.cardBegins(id), on: phone, in: seconds(10...40_000, .beginning, phone), epoch: nil)
        } else {
            plan(.cardAges(id), on: phone, in: Self.longestCard - age, epoch: nil)
        }
        let delay = seconds(0...2, or: 5...100, percent: 10, .cardToken, phone)
        plan(.cardToken(id), on: phone, in: delay, epoch: nil)
        return id
    }

    /// A push changes what a card shows, unless the card shows something newer.
    private func show(_ revision: Int, on id: String, of phone: Int) {
        guard let index = phones[phone].card(id), revision > phones[phone].cards[index].revision else { return }
        note("\(id) shows revision \(revision)")
        phones[phone].cards[index].revision = revision
        phones[phone].cards[index].shownAt[revision] = now
        announce(.content(card: id, revision: revision), on: phone)
    }

    /// A scheduled card appears, unless it was ended before.
    func begin(_ id: String, on phone: Int) {
        guard let index = phones[phone].card(id), phones[phone].cards[index].state == .pending else { return }
        note("\(id) begins")
        phones[phone].cards[index].number = server.apple.begin(phones[phone].cards[index], on: phone)
        phones[phone].cards[index].state = .active
        phones[phone].cards[index].begunAt = now
        plan(.cardAges(id), on: phone, in: Self.longestCard, epoch: nil)
        announce(.state(card: id, .active), on: phone)
    }

    /// A card changes its state; the first cause counts.
    func turn(_ id: String, on phone: Int, _ state: CardState, by cause: TrueCause) {
        guard let index = phones[phone].card(id), phones[phone].cards[index].state != .dismissed else { return }
        phones[phone].cards[index].state = state
        if phones[phone].cards[index].cause == nil {
            phones[phone].cards[index].cause = cause
            phones[phone].cards[index].goneAt = now
            server.apple.end(phones[phone].cards[index], on: phone)
        }
        announce(.state(card: id, state), on: phone)
    }

    /// ActivityKit takes a moment to end a card, and does not if the app dies.
    func endByApp(_ id: String, on phone: Int) {
        guard let index = phones[phone].card(id), let epoch = phones[phone].process?.epoch else { return }
        if phones[phone].cards[index].endAskedAt == nil { phones[phone].cards[index].endAskedAt = now }
        // Of a card that the app ended before iOS told that it was swiped away, no library can know.
        let card = phones[phone].cards[index]
        if card.cause == .user, phones[phone].process?.toldDismissed.contains(id) != true {
            phones[phone].dismissed.remove(card.activity)
        }
        plan(.endByApp(id), on: phone, in: seconds(0...0.2, .endByApp, phone), epoch: epoch)
    }

    func receive(_ push: Push, on phone: Int) {
        guard phones[phone].isThere else { return }
        guard phones[phone].isOnline else {
            phones[phone].inbox.append((push, now + push.keptFor))
            return
        }
        switch push.kind {
        case .start:
            guard push.landing != nil || phones[phone].startToken == push.token else { return }
            forgiveLateSwipe(of: push.activity, on: phone, before: push.sentAt)
            forgiveUnknownAge(of: push.activity, on: phone)
            let id = addCard(
                of: push.activity,
                number: push.landing?.card ?? 0,
                isAppStarted: false,
                revision: push.revision,
                age: push.landing == nil ? 0 : now - push.sentAt,
                on: phone
            )
            note("a push starts \(id) of \(push.activity) on phone\(phone)")
            announce(.appeared(card: id), on: phone)
            wakenByStart.append(phone)
        case .update:
            for card in reached(by: push, on: phone) { show(push.revision, on: card.id, of: phone) }
        case .end(let atOnce):
            for card in reached(by: push, on: phone) {
                note("a push ends \(card.id)")
                show(push.revision, on: card.id, of: phone)
                turn(card.id, on: phone, .ended, by: .system)
                plan(.leaveScreen(card.id), on: phone, in: atOnce ? 0.2 : 4 * 3600, epoch: nil)
            }
        case .ignored: break
        }
    }

    /// The live cards that a push changes or ends.
    func reached(by push: Push, on phone: Int) -> [PhoneCard] {
        phones[phone].cards.filter { card in
            guard card.isLive else { return false }
            if let landing = push.landing { return landing.phone == phone && landing.card == card.number }
            return card.token == push.token
        }
    }
}
