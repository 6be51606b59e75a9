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
        phones.append(Phone(number: 1, vendor: "vendor-1", user: chance(80) ? users[0] : nil))
        giveStartToken(0)
        try await run(0, inForeground: true)
        let total = Self.events.reduce(0) { $0 + $1.weight }
        for _ in 0..<steps {
            var draw = Int.random(in: 0..<total, using: &random)
            for (weight, event) in Self.events {
                draw -= weight
                if draw < 0 {
                    try await take(event, on: Int.random(in: phones.indices, using: &random))
                    break
                }
            }
            guard broken.isEmpty || kind == .commonPractice else { return }
        }
        for phone in phones.indices where phones[phone].isThere { try await wakeCalmly(phone) }
        for phone in phones.indices where phones[phone].isThere { try await wakeCalmly(phone) }
    }

    private func take(_ event: Event, on phone: Int) async throws {
        guard phones[phone].isThere else { return }
        switch event {
        case .moment: try await pass(.random(in: 0.05...5, using: &random))
        case .while: try await pass(.random(in: 5...120, using: &random))
        case .long: try await pass(.random(in: 120...10_800, using: &random))
        case .days: try await pass(.random(in: 20_000...200_000, using: &random))
        case .open: try await run(phone, inForeground: true)
        case .leave:
            guard phones[phone].process?.isForeground == true else { return }
            note("phone\(phone) leaves the app")
            phones[phone].process?.isForeground = false
            planSuspension(phone)
        case .kill: kill(phone)
        case .killSoon:
            let actions = Int.random(in: 0...12, using: &random)
            phones[phone].process?.diesAfter = actions
            note("the app of phone\(phone) will die after \(actions) actions")
        case .forceQuit:
            kill(phone)
            phones[phone].isForceQuit = true
        case .goOffline:
            note("phone\(phone) goes offline")
            phones[phone].isOnline = false
        case .goOnline: try await goOnline(phone)
        case .serverDown:
            note("Tally is away")
            isServerDown = true
        case .serverUp: isServerDown = false
        case .refuseTickets: areTicketsRefused = true
        case .giveTickets: areTicketsRefused = false
        case .rotateStartToken: giveStartToken(phone)
        case .rotateCardToken:
            if let card = phones[phone].cards.filter({ $0.isLive && $0.token != nil }).randomElement(using: &random) {
                giveToken(to: card.id, on: phone)
            }
        case .setClock:
            phones[phone].clockOffset =
                chance(40) ? 0 : .random(in: -10...10, using: &random) * (chance(50) ? 3600 : 86_400)
            note("the clock of phone\(phone) is off by \(phones[phone].clockOffset) s")
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

    func goOnline(_ phone: Int) async throws {
        guard !phones[phone].isOnline else { return }
        note("phone\(phone) is online")
        phones[phone].isOnline = true
        let inbox = phones[phone].inbox
        phones[phone].inbox = []
        for (push, until) in inbox where now < until {
            plan(.push(push), on: phone, in: .random(in: 0.1...3, using: &random), epoch: nil)
        }
    }

    // MARK: Activities

    private func changeActivity(_ begins: Bool) async throws {
        if begins, running.count < 4 {
            let id = "match\(number())-\(seed)"
            let of: [String]? = chance(25) ? nil : [users.randomElement(using: &random) ?? ""]
            note("the backend begins \(id) for \(of?.joined() ?? "everybody")")
            owners[id] = .some(of)
            running.append(id)
            try await server.begin(id, users: of)
        } else if let id = running.randomElement(using: &random) {
            note("the backend ends \(id)")
            running.removeAll { $0 == id }
            try await server.end(id, atOnce: chance(50))
        }
    }

    private func startOwnCard(_ phone: Int) async throws {
        guard phones[phone].process?.isForeground == true, let user = phones[phone].user else { return }
        let id: String
        if let again = phones[phone].dismissed.sorted().randomElement(using: &random), chance(30),
            running.contains(again)
        {
            id = again
        } else {
            id = "order\(number())-\(seed)"
            owners[id] = [user]
            running.append(id)
            // The app may be faster than its backend.
            if chance(70) { try await server.begin(id, users: []) } else { late.append(id) }
        }
        guard !phones[phone].cards.contains(where: { $0.activity == id && $0.isLive }) else { return }
        note("phone\(phone) starts a card of \(id)")
        deliver(.starting(activity: id, AppStart(revision: 1)), to: phone)
        guard phones[phone].process != nil else { return }
        if chance(10) { return deliver(.notStarted(activity: id), to: phone) }
        phones[phone].dismissed.remove(id)
        phones[phone].swiped.remove(id)
        let card = addCard(of: id, isAppStarted: true, on: phone)
        watch(card, on: phone)
    }

    func beginLate() async throws {
        for id in late { try await server.begin(id, users: []) }
        late = []
    }

    private func endOwnCard(_ phone: Int) {
        guard phones[phone].process?.isForeground == true,
            let card = reading(phone).cards.randomElement(using: &random)
        else { return }
        note("phone\(phone) ends \(card.activity)")
        if let index = phones[phone].card(card.id) { phones[phone].cards[index].isEndAsked = true }
        deliver(.ending(card: card.id), to: phone)
        if phones[phone].process != nil { endByApp(card.id, on: phone) }
    }

    private func swipe(_ phone: Int) {
        guard let card = phones[phone].cards.filter({ $0.state != .dismissed }).randomElement(using: &random) else {
            return
        }
        note("the user of phone\(phone) swipes \(card.id) away")
        phones[phone].swiped.insert(card.activity)
        let others = phones[phone].cards.contains { $0.activity == card.activity && $0.id != card.id && $0.isLive }
        if card.isLive, !others, phones[phone].kept?.knows(card: card.id) == true {
            phones[phone].dismissed.insert(card.activity)
        }
        turn(card.id, on: phone, .dismissed, by: .user)
    }

    // MARK: Users and phones

    private func signOut(_ phone: Int) {
        guard phones[phone].process?.isForeground == true, phones[phone].user != nil else { return }
        note("the user of phone\(phone) signs out")
        // The app calls Tally first. If it dies in the call, the user is still signed in.
        phones[phone].isSigningOut = true
        deliver(.signedOut, to: phone)
        phones[phone].isSigningOut = false
        guard phones[phone].process != nil else {
            // Tally may hear of it for a moment.
            phones[phone].hasLostAnswer = true
            return
        }
        phones[phone].user = nil
        phones[phone].userKnownAt = nil
    }

    private func signIn(_ phone: Int) {
        guard phones[phone].process?.isForeground == true, phones[phone].user == nil else { return }
        let user = users.randomElement(using: &random) ?? ""
        note("\(user) signs in on phone\(phone)")
        phones[phone].user = user
        phones[phone].userKnownAt = nil
        phones[phone].hasLostAnswer = false
        deliver(.signedIn(user), to: phone)
    }

    private func reinstall(_ phone: Int) {
        guard chance(40) else { return }
        kill(phone)
        note("phone\(phone) installs the app anew")
        phones[phone].kept = nil
        phones[phone].dismissed = []
        phones[phone].vendor = chance(50) ? phones[phone].vendor : "vendor-\(number())"
        for card in phones[phone].cards { turn(card.id, on: phone, .dismissed, by: .system) }
        phones[phone].cards = []
        giveStartToken(phone)
    }

    private func restore(_ phone: Int) {
        guard phones.count == 1, chance(40) else { return }
        let vendor = "vendor-\(number())"
        let other = Phone(
            number: 2,
            vendor: vendor,
            kept: chance(70) ? phones[phone].kept : nil,
            user: phones[phone].user
        )
        note("a backup is restored on another phone, \(other.kept == nil ? "without" : "with") what TallyKit keeps")
        phones.append(other)
        giveStartToken(1)
        if chance(40) {
            kill(phone)
            phones[phone].isThere = false
        }
    }
}
