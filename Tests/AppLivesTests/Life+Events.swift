@testable import TallyKit

/// What people, backends and networks do, by chance.
extension Life {
    private enum Event {
        case moment, `while`, long, days
        case open, leave, kill, killSoon, forceQuit
        case goOffline, goOnline, serverDown, serverUp, refuseTickets, giveTickets
        case rotateStartToken, rotateCardToken
        case beginActivity, endActivity, startOwnCard, endOwnCard, swipe
        case signOut, signIn, setClock, reinstall, restore, calmWake
    }

    private static let events: [(weight: Int, event: Event)] = [
        (25, .moment), (12, .while), (4, .long), (1, .days),
        (12, .open), (8, .leave), (3, .kill), (5, .killSoon), (1, .forceQuit),
        (2, .goOffline), (4, .goOnline), (1, .serverDown), (4, .serverUp), (1, .refuseTickets), (4, .giveTickets),
        (2, .rotateStartToken), (3, .rotateCardToken),
        (6, .beginActivity), (2, .endActivity), (3, .startOwnCard), (1, .endOwnCard), (4, .swipe),
        (2, .signOut), (3, .signIn), (1, .setClock), (1, .reinstall), (1, .restore), (4, .calmWake),
    ]

    func live(steps: Int) async throws {
        phones.append(Phone(number: 1, vendor: "vendor-1", user: chance(80, .firstUser) ? users[0] : nil))
        server.apple.addPhone()
        giveStartToken(0)
        try await run(0, inForeground: true)
        if continueAfterHours != nil { try await beginLasting() }
        let total = Self.events.reduce(0) { $0 + $1.weight }
        for _ in 0..<steps {
            var random = dice.next(.step, nil)
            var draw = Int.random(in: 0..<total, using: &random)
            for (weight, event) in Self.events {
                draw -= weight
                if draw < 0 {
                    try await take(event, on: pick(Array(phones.indices), .stepPhone) ?? 0)
                    checkScreens()
                    break
                }
            }
            guard broken.isEmpty || kind == .commonPractice else { return }
        }
        for phone in phones.indices where phones[phone].isThere { try await wakeCalmly(phone) }
        for phone in phones.indices where phones[phone].isThere { try await wakeCalmly(phone) }
        try await continueCalmly()
    }

    private func take(_ event: Event, on phone: Int) async throws {
        guard phones[phone].isThere else { return }
        switch event {
        case .moment: try await pass(seconds(0.05...5, .time))
        case .while: try await pass(seconds(5...120, .time))
        case .long: try await pass(seconds(120...10_800, .time))
        case .days: try await pass(seconds(20_000...200_000, .time))
        case .open: try await run(phone, inForeground: true)
        case .leave:
            guard phones[phone].process?.isForeground == true else { return }
            note("phone\(phone) leaves the app")
            phones[phone].process?.isForeground = false
            deliver(.background, to: phone)
            planSuspension(phone)
        case .kill: kill(phone)
        case .killSoon:
            var random = dice.next(.deathAfter, phone)
            let actions = Int.random(in: 0...12, using: &random)
            phones[phone].process?.diesAfter = actions
            note("the app of phone\(phone) will die after \(actions) actions")
        case .forceQuit:
            kill(phone)
            phones[phone].isForceQuit = true
            server.apple.setForceQuit(true, phone)
        case .goOffline:
            note("phone\(phone) goes offline")
            phones[phone].isOnline = false
            server.apple.setOnline(false, phone)
        case .goOnline: try await goOnline(phone)
        case .serverDown:
            note("Tally is away")
            isServerDown = true
        case .serverUp: isServerDown = false
        case .refuseTickets: areTicketsRefused = true
        case .giveTickets: areTicketsRefused = false
        case .rotateStartToken: giveStartToken(phone)
        case .rotateCardToken:
            let cards = phones[phone].cards.filter { $0.isLive && $0.token != nil }
            if let card = pick(cards, .tokenRotation, phone) { giveToken(to: card.id, on: phone) }
        case .setClock: setClock(phone)
        case .beginActivity, .endActivity: try await changeActivity(event == .beginActivity)
        case .startOwnCard: try await startOwnCard(phone)
        case .endOwnCard: endOwnCard(phone)
        case .swipe: swipe(phone)
        case .signOut: signOut(phone)
        case .signIn: signIn(phone)
        case .reinstall: reinstall(phone)
        case .restore: restore(phone)
        case .calmWake: try await wakeCalmly(phone)
        }
        try await askForTickets()
    }

    private func setClock(_ phone: Int) {
        var random = dice.next(.clock, phone)
        let unit: Double = random.hits(50) ? 3600 : 86_400
        phones[phone].clockOffset = random.hits(40) ? 0 : .random(in: -10...10, using: &random) * unit
        for card in phones[phone].cards.indices { phones[phone].cards[card].hasClockChanged = true }
        phones[phone].hasClockChangedSinceLeft = true
        note("the clock of phone\(phone) is off by \(phones[phone].clockOffset) s")
    }

    func goOnline(_ phone: Int) async throws {
        guard !phones[phone].isOnline else { return }
        note("phone\(phone) is online")
        phones[phone].isOnline = true
        server.apple.setOnline(true, phone)
        let inbox = phones[phone].inbox
        phones[phone].inbox = []
        for (push, until) in inbox where now < until {
            let chance: Chance = push.kind == .update ? .content : .inbox
            plan(.push(push), on: phone, in: seconds(0.1...3, chance, phone), epoch: nil)
        }
    }

    // MARK: Activities

    /// The backend begins an activity for everybody that lasts longer than a card.
    private func beginLasting() async throws {
        let id = "lasting-\(seed)"
        note("the backend begins \(id) for everybody")
        lasting = id
        owners[id] = .some(nil)
        running.append(id)
        planChange(of: id, 0)
        try await server.begin(id, users: nil)
    }

    private func changeActivity(_ begins: Bool) async throws {
        var random = dice.next(.activity, nil)
        if begins, running.count < 4 {
            let id = "match\(number(of: "match"))-\(seed)"
            let of: [String]? = random.hits(25) ? nil : [users.randomElement(using: &random) ?? ""]
            note("the backend begins \(id) for \(of?.joined() ?? "everybody")")
            owners[id] = .some(of)
            running.append(id)
            planChange(of: id, 0)
            try await server.begin(id, users: of)
        } else if let id = running.filter({ $0 != lasting }).randomElement(using: &random) {
            note("the backend ends \(id)")
            running.removeAll { $0 == id }
            try await server.end(id, atOnce: random.hits(50))
        }
    }

    /// The backend changes each activity some times, at first in quick succession.
    private func planChange(of activity: String, _ number: Int) {
        guard number < 6 else { return }
        let longest = Double(30 << (2 * number))
        plan(.change(activity, number), on: 0, in: seconds(2...longest, .content), epoch: nil)
    }

    func change(_ activity: String, _ number: Int) async throws {
        guard running.contains(activity) else { return }
        if !late.contains(activity) {
            note("the backend changes \(activity)")
            try await server.change(activity)
        }
        planChange(of: activity, number + 1)
    }

    private func startOwnCard(_ phone: Int) async throws {
        guard phones[phone].process?.isForeground == true, let user = phones[phone].user else { return }
        var random = dice.next(.ownCard, phone)
        let id: String
        if let again = phones[phone].dismissed.sorted().randomElement(using: &random), random.hits(30),
            running.contains(again)
        {
            id = again
        } else {
            id = "order\(number(of: "order"))-\(seed)"
            owners[id] = [user]
            running.append(id)
            planChange(of: id, 0)
            // The app may be faster than its backend.
            if random.hits(70) { try await server.begin(id, users: []) } else { late.append(id) }
        }
        guard !phones[phone].cards.contains(where: { $0.activity == id && $0.isLive }) else { return }
        note("phone\(phone) starts a card of \(id)")
        deliver(.starting(activity: id, AppStart(revision: 1)), to: phone)
        guard phones[phone].process != nil else { return }
        if random.hits(10) { return deliver(.notStarted(activity: id), to: phone) }
        phones[phone].dismissed.remove(id)
        phones[phone].swiped.remove(id)
        let number = server.apple.addCard(on: phone)
        let card = addCard(
            of: id,
            number: number,
            isAppStarted: true,
            isScheduled: random.hits(30),
            revision: 1,
            on: phone
        )
        watch(card, on: phone)
    }

    func beginLate() async throws {
        for id in late { try await server.begin(id, users: []) }
        late = []
    }

    private func endOwnCard(_ phone: Int) {
        guard phones[phone].process?.isForeground == true,
            let card = pick(visibleCards(phone), .endOwnCard, phone), let index = phones[phone].card(card.id)
        else { return }
        note("phone\(phone) ends \(card.activity)")
        phones[phone].cards[index].endAskedAt = now
        noteTold(card.id, on: phone)
        phones[phone].cards[index].isTokenTold = card.token != nil
        deliver(.ending(readProperties(card)), to: phone)
        if phones[phone].process != nil {
            endByApp(card.id, on: phone)
        } else if phones[phone].kept?.ends(card.id) != true {
            phones[phone].cards[index].endAskedAt = card.endAskedAt
        }
    }

    private func swipe(_ phone: Int) {
        let visible = phones[phone].cards.filter { $0.state != .dismissed && $0.state != .pending }
        guard let card = pick(visible, .swipe, phone) else { return }
        note("the user of phone\(phone) swipes \(card.id) away")
        if card.isLive { phones[phone].swiped.insert(card.activity) }
        let others = phones[phone].cards.contains { $0.activity == card.activity && $0.id != card.id && $0.isLive }
        // Who swipes one of two cards away may want the other. Of a card that no process was told, no library can know.
        // A card that the app had asked iOS to end was not the user's to dismiss.
        if card.stays, !others, card.wasTold { phones[phone].dismissed.insert(card.activity) }
        turn(card.id, on: phone, .dismissed, by: .user)
    }

    // MARK: Users and phones

    private func signOut(_ phone: Int) {
        guard phones[phone].process?.isForeground == true, phones[phone].user != nil else { return }
        note("the user of phone\(phone) signs out")
        // The app calls Tally first. If it dies in the call, the user is still signed in.
        let live = phones[phone].cards.indices.filter { phones[phone].cards[$0].isLive }
        phones[phone].isSigningOut = true
        let known = phones[phone].userKnownAt
        phones[phone].forgetUser()
        deliver(.signedOut, to: phone)
        guard phones[phone].process != nil else {
            // The next process ends the cards that this one was about to end, if that was stored.
            for card in live where phones[phone].kept?.ends(phones[phone].cards[card].id) == true {
                phones[phone].cards[card].endAskedAt = phones[phone].cards[card].endAskedAt ?? now
            }
            phones[phone].userKnownAt = known
            return
        }
        phones[phone].isSigningOut = false
        phones[phone].leaver = phones[phone].user
        phones[phone].user = nil
        phones[phone].leftAt = now
        phones[phone].hasClockChangedSinceLeft = false
    }

    private func signIn(_ phone: Int) {
        guard phones[phone].process?.isForeground == true, phones[phone].user == nil else { return }
        let user = pick(users, .user, phone) ?? ""
        note("\(user) signs in on phone\(phone)")
        phones[phone].user = user
        phones[phone].forgetUser()
        deliver(.signedIn(user), to: phone)
    }

    private func reinstall(_ phone: Int) {
        var random = dice.next(.install, phone)
        guard random.hits(40) else { return }
        kill(phone)
        note("phone\(phone) installs the app anew")
        phones[phone].kept = nil
        phones[phone].dismissed = []
        phones[phone].swiped = []
        phones[phone].leftAt = nil
        phones[phone].confirmed = [:]
        phones[phone].lastSent = [:]
        phones[phone].forgetUser()
        if random.hits(50) { phones[phone].vendor = "later-vendor-\(number(of: "vendor"))" }
        for card in phones[phone].cards { turn(card.id, on: phone, .dismissed, by: .system) }
        phones[phone].cards = []
        giveStartToken(phone)
    }

    private func restore(_ phone: Int) {
        var random = dice.next(.install, phone)
        guard phones.count == 1, random.hits(40) else { return }
        let vendor = "later-vendor-\(number(of: "vendor"))"
        let other = Phone(
            number: 2,
            vendor: vendor,
            kept: random.hits(70) ? phones[phone].kept : nil,
            user: phones[phone].user
        )
        note("a backup is restored on another phone, \(other.kept == nil ? "without" : "with") what TallyKit keeps")
        phones.append(other)
        server.apple.addPhone()
        giveStartToken(1)
        if random.hits(40) {
            kill(phone)
            phones[phone].isThere = false
        }
    }
}
