import Foundation

@testable import TallyKit

/// What Tally promises to apps, in memory: thousands of lives a minute.
final class ModelServer: LifeServer {
    private struct Device {
        var user: String?
        var installation: String?
        var earlier: Set<String> = []
        var startTokens: [String: String] = [:]
        var generation = 0
    }

    private struct Card {
        /// ActivityKit's id.
        var id: String?
        var token: String?
        var isGone = false
        var generation = 0
        var isPending = false
        var startedAt: Double
        var reportedAt: Double
        /// Whether a start has left that is to continue it.
        var isContinued = false
        /// Ids of the cards that it continues.
        var past: Set<String> = []
    }

    private struct Start {
        var sentAt: Double
        var repeats = 0
        var isSettled = false
    }

    private struct Activity {
        var users: [String]?
        var isEnded = false
        var endsAtOnce = false
        var revision = 1
        /// The newest that receipts named, by device.
        var shown: [String: Int] = [:]
        var cards: [String: Card] = [:]
        var starts: [String: Start] = [:]
    }

    private struct TicketFacts {
        var request: TicketRequest
        var user: String?
        var until: Double
    }

    private static let startRetry: Double = 120
    private static let startExpiration: Double = 600
    private static let updateExpiration: Double = 8 * 3600
    /// No card is continued that was reported so short a time ago.
    private static let rest: Double = 2_700

    let beginning: Double
    /// The policy of all activities; nil: no card is continued.
    let continueAfterHours: Int?
    private var now: Double = 0
    private var devices: [String: Device] = [:]
    private var activities: [String: Activity] = [:]
    private var tickets: [String: TicketFacts] = [:]
    private var pushes: [Push] = []
    private var hasNews = false
    private(set) var nextWork: Double?
    /// Tokens that Apple calls dead.
    private var dead: Set<String> = []

    init(beginning: Double, continueAfterHours: Int? = nil) {
        self.beginning = beginning
        self.continueAfterHours = continueAfterHours
    }

    var apple: any LifeApple { self }

    func setTime(_ seconds: Double) { now = seconds }

    func ticket(_ request: TicketRequest, user: String?) -> Ticket {
        let text = "ticket-\(tickets.count + 1)"
        tickets[text] = TicketFacts(request: request, user: request.signedOut ? nil : user, until: now + 3600)
        return Ticket(text, expiresAt: Date(timeIntervalSince1970: beginning + now + 3600))
    }

    func take(_ report: Report, isNumbered: Bool) -> Answer {
        hasNews = true
        guard let ticket = tickets[report.ticket], now < ticket.until else { return Answer(status: 401) }
        guard ticket.request.deviceID == report.deviceID else { return Answer(status: 403) }
        if case .activity(let id) = report.subject, !isMeant(ticket, id) { return Answer(status: 403) }
        if case .activity(let id) = report.subject, activities[id] == nil { return Answer(status: 404) }
        if case .receipts(let receipts) = report.news { return take(receipts, report, ticket) }
        let installation = isNumbered ? report.installation : nil
        var device = devices[report.deviceID] ?? Device()
        if let installation {
            if device.earlier.contains(installation) { return Self.stale("stale_installation") }
            if let known = device.installation, known != installation {
                device.earlier.insert(known)
                device.generation = 0
                for id in activities.keys { activities[id]?.cards[report.deviceID]?.generation = 0 }
            }
            device.installation = installation
        }
        devices[report.deviceID] = device
        switch report.news {
        case .phone(let facts, _): return take(facts, report, isNumbered, user: ticket.user)
        case .topics, .receipts: return Self.accepted
        case .card(let card): return take(card, report, isNumbered)
        }
    }

    private static let accepted = Answer(
        status: 200,
        body: AnswerBody(accepted: true, receiptSampling: Life.receiptSampling)
    )

    private static func stale(_ reason: String) -> Answer {
        Answer(status: 200, body: AnswerBody(accepted: false, reason: reason, receiptSampling: Life.receiptSampling))
    }

    /// Receipts of cards that it does not know, and of activities that the ticket does not name, are ignored.
    private func take(_ receipts: [Receipt], _ report: Report, _ ticket: TicketFacts) -> Answer {
        let id = report.deviceID
        for receipt in receipts where ticket.request.activities?.contains(receipt.activity) ?? true {
            guard let activity = activities[receipt.activity], receipt.revision <= activity.revision,
                activity.cards[id] != nil || activity.starts[id] != nil
            else { continue }
            activities[receipt.activity]?.shown[id] = max(activity.shown[id] ?? 0, receipt.revision)
        }
        return Answer(status: 200, body: AnswerBody(receiptSampling: Life.receiptSampling))
    }

    private func isMeant(_ ticket: TicketFacts, _ id: String) -> Bool {
        if let named = ticket.request.activities { return named.contains(id) }
        guard let activity = activities[id] else { return false }
        let device = ticket.request.deviceID
        return activity.users == nil || ticket.user.map { activity.users?.contains($0) == true } == true
            || activity.cards[device] != nil || activity.starts[device] != nil
    }

    private func take(_ facts: PhoneFacts, _ report: Report, _ isNumbered: Bool, user: String?) -> Answer {
        let id = report.deviceID
        // A late report changes nothing, not even the user.
        if isNumbered, !facts.startTokens.isEmpty, report.number < devices[id]?.generation ?? 0 {
            return Self.stale("stale_generation")
        }
        devices[id]?.user = user
        devices[id]?.startTokens.merge(facts.startTokens) { _, new in new }
        if isNumbered, !facts.startTokens.isEmpty { devices[id]?.generation = report.number }
        // A token belongs to one device.
        for other in devices.keys where other != id {
            for (type, token) in facts.startTokens where devices[other]?.startTokens[type] == token {
                devices[other]?.startTokens[type] = nil
            }
        }
        for activity in activities.keys.sorted() { enrol(id, in: activity) }
        return Self.accepted
    }

    private func take(_ news: CardNews, _ report: Report, _ isNumbered: Bool) -> Answer {
        guard let activity = report.subject.activity else { return Answer(status: 404) }
        let id = report.deviceID
        let startedAt = activities[activity]?.starts[id]?.sentAt ?? now
        var card = activities[activity]?.cards[id] ?? Card(startedAt: startedAt, reportedAt: now)
        if isNumbered, report.number < card.generation { return Self.stale("stale_generation") }
        activities[activity]?.starts[id, default: Start(sentAt: now)].isSettled = true
        if card.past.contains(news.card) {
            if case .token(let token) = news.reach { send(.end(atOnce: true), of: activity, to: token, 0) }
            return Self.accepted
        }
        // The end of one card says nothing of another.
        if news.reach == .gone, let id = card.id, id != news.card { return Self.accepted }
        if card.isContinued, let old = card.id, old != news.card {
            if let token = card.token { send(.end(atOnce: true), of: activity, to: token, 0) }
            card = Card(startedAt: startedAt, reportedAt: now, past: card.past.union([old]))
        }
        if isNumbered { card.generation = report.number }
        // Another card, or one that has begun.
        if card.id ?? news.card != news.card || (card.isPending && news.isPending != true) { card.startedAt = now }
        (card.id, card.reportedAt) = (news.card, now)
        switch news.reach {
        case .gone: (card.token, card.isGone) = (nil, true)
        case .token(let token): (card.token, card.isGone) = (token, false)
        case .channel: card.isGone = false
        }
        card.isPending = news.isPending == true
        activities[activity]?.cards[id] = card
        if activities[activity]?.isEnded == true { sendEnd(activity, to: id) } else { sendUpdate(activity, to: id) }
        return Self.accepted
    }

    // MARK: The backend

    func begin(_ id: String, users: [String]?) {
        hasNews = true
        activities[id] = Activity(users: users)
        for device in devices.keys.sorted() { enrol(device, in: id) }
    }

    func change(_ id: String) {
        guard activities[id]?.isEnded == false else { return }
        activities[id]?.revision += 1
        for device in activities[id]?.cards.keys.sorted() ?? [] { sendUpdate(id, to: device) }
    }

    /// The newest state, unless it is that of the start.
    private func sendUpdate(_ id: String, to device: String) {
        guard let activity = activities[id], activity.revision > 1, let token = activity.cards[device]?.token else {
            return
        }
        send(.update, of: id, to: token, activity.revision)
    }

    private func send(_ kind: Push.Kind, of activity: String, to token: String, _ revision: Int) {
        let keptFor = kind == .start ? Self.startExpiration : Self.updateExpiration
        pushes.append(
            Push(
                kind: kind,
                token: token,
                activity: activity,
                revision: revision,
                sentAt: now,
                keptFor: keptFor
            )
        )
    }

    func end(_ id: String, atOnce: Bool) {
        guard activities[id]?.isEnded == false else { return }
        hasNews = true
        activities[id]?.revision += 1
        activities[id]?.isEnded = true
        activities[id]?.endsAtOnce = atOnce
        for device in activities[id]?.cards.keys.sorted() ?? [] { sendEnd(id, to: device) }
    }

    private func sendEnd(_ id: String, to device: String) {
        guard let activity = activities[id], let token = activity.cards[device]?.token else { return }
        send(.end(atOnce: activity.endsAtOnce), of: id, to: token, activity.revision)
        activities[id]?.cards[device]?.token = nil
        activities[id]?.cards[device]?.isGone = true
    }

    private func isMeant(_ activity: Activity, for device: String) -> Bool {
        activity.users == nil || devices[device]?.user.map { activity.users?.contains($0) == true } == true
    }

    /// An audience is a standing rule.
    private func enrol(_ device: String, in id: String) {
        guard let activity = activities[id], !activity.isEnded, activity.starts[device] == nil,
            activity.cards[device] == nil, isMeant(activity, for: device),
            devices[device]?.startTokens["Game"] != nil
        else { return }
        activities[id]?.starts[device] = Start(sentAt: now)
        sendStart(id, to: device)
    }

    private func sendStart(_ id: String, to device: String) {
        guard let token = devices[device]?.startTokens["Game"], let revision = activities[id]?.revision else { return }
        send(.start, of: id, to: token, revision)
    }

    // MARK: As time passes

    /// What time brings to one device of an activity.
    private struct Due {
        let at: Double
        let activity: String
        let device: String
        let isContinuation: Bool
    }

    /// In the order of activities and devices.
    private var due: [Due] {
        var due: [Due] = []
        for (id, activity) in activities.sorted(by: { $0.key < $1.key }) where !activity.isEnded {
            for device in devices.keys.sorted() where isMeant(activity, for: device) {
                if let start = activity.starts[device], !start.isSettled, start.repeats == 0 {
                    let time = start.sentAt + Self.startRetry
                    due.append(Due(at: time, activity: id, device: device, isContinuation: false))
                }
                if let card = activity.cards[device], let time = continuation(of: card, on: device) {
                    due.append(Due(at: time, activity: id, device: device, isContinuation: true))
                }
            }
        }
        return due
    }

    /// Tally asks Apple for the card before it continues it.
    private func continuation(of card: Card, on device: String) -> Double? {
        let end = card.startedAt + Life.longestCard
        guard let continueAfterHours, !card.isContinued, let token = card.token, !dead.contains(token), !card.isPending,
            now < end,
            devices[device]?.startTokens["Game"] != nil
        else { return nil }
        let time = max(card.startedAt + Double(continueAfterHours) * 3600, card.reportedAt + Self.rest)
        return time < end ? time : nil
    }

    /// A new card is started. When it is reported, the old one is ended.
    private func continueCard(of id: String, on device: String) {
        activities[id]?.starts[device] = Start(sentAt: now, isSettled: true)
        activities[id]?.cards[device]?.isContinued = true
        sendStart(id, to: device)
    }

    func work() -> [Push] {
        if hasNews || now >= nextWork ?? .infinity {
            hasNews = false
            for work in due where work.at <= now {
                if work.isContinuation {
                    continueCard(of: work.activity, on: work.device)
                } else {
                    activities[work.activity]?.starts[work.device]?.repeats = 1
                    sendStart(work.activity, to: work.device)
                }
            }
            nextWork = due.map(\.at).min()
        }
        defer { pushes = [] }
        return pushes
    }

    func knownPhone(_ device: String) -> KnownPhone? {
        devices[device].map { KnownPhone(user: $0.user, startTokens: $0.startTokens) }
    }

    func knownCard(_ activity: String, on device: String) -> KnownCard {
        guard let card = activities[activity]?.cards[device], let token = card.token else { return .none }
        return .token(token, isPending: card.isPending)
    }

    func shownRevision(_ activity: String, on device: String) -> Int { activities[activity]?.shown[device] ?? 0 }
}

/// Lives play Apple themselves. Tally only hears of it which tokens are dead.
extension ModelServer: LifeApple {
    func give(_ token: String, to card: PhoneCard, on phone: Int) { end(card, on: phone) }

    func end(_ card: PhoneCard, on phone: Int) {
        hasNews = true
        if let token = card.token { dead.insert(token) }
    }

    func addPhone() {}
    func give(_ token: String, inPlaceOf old: String?, to phone: Int) {}
    func addCard(on phone: Int) -> Int { 0 }
    func begin(_ card: PhoneCard, on phone: Int) -> Int { 0 }
    func setOnline(_ isOnline: Bool, _ phone: Int) {}
    func setForceQuit(_ isForceQuit: Bool, _ phone: Int) {}
}
