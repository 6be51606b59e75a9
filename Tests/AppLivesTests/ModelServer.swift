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
        var isLeaving = false
        var isPending = false
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

    let beginning: Double
    private var now: Double = 0
    private var devices: [String: Device] = [:]
    private var activities: [String: Activity] = [:]
    private var tickets: [String: TicketFacts] = [:]
    private var pushes: [Push] = []

    init(beginning: Double) { self.beginning = beginning }

    func setTime(_ seconds: Double) { now = seconds }

    func ticket(_ request: TicketRequest, user: String?) -> Ticket {
        let text = "ticket-\(tickets.count + 1)"
        tickets[text] = TicketFacts(request: request, user: request.signedOut ? nil : user, until: now + 3600)
        return Ticket(text, expiresAt: Date(timeIntervalSince1970: beginning + now + 3600))
    }

    func take(_ report: Report, isNumbered: Bool) -> Answer {
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
        var card = activities[activity]?.cards[id] ?? Card()
        if isNumbered, report.number < card.generation { return Self.stale("stale_generation") }
        activities[activity]?.starts[id, default: Start(sentAt: now)].isSettled = true
        // The end of one card says nothing of another.
        if news.reach == .gone, let id = card.id, id != news.card { return Self.accepted }
        if isNumbered { card.generation = report.number }
        card.id = news.card
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
        pushes.append(
            Push(
                kind: .update,
                token: token,
                activity: id,
                revision: activity.revision,
                keptFor: Self.updateExpiration
            )
        )
    }

    func end(_ id: String, atOnce: Bool) {
        guard activities[id]?.isEnded == false else { return }
        activities[id]?.revision += 1
        activities[id]?.isEnded = true
        activities[id]?.endsAtOnce = atOnce
        for device in activities[id]?.cards.keys.sorted() ?? [] { sendEnd(id, to: device) }
    }

    private func sendEnd(_ id: String, to device: String) {
        guard let activity = activities[id], let token = activity.cards[device]?.token else { return }
        pushes.append(
            Push(
                kind: .end(atOnce: activity.endsAtOnce),
                token: token,
                activity: id,
                revision: activity.revision,
                keptFor: Self.updateExpiration
            )
        )
        activities[id]?.cards[device]?.token = nil
        activities[id]?.cards[device]?.isGone = true
    }

    /// An audience is a standing rule.
    private func enrol(_ device: String, in id: String) {
        guard let activity = activities[id], !activity.isEnded, activity.starts[device] == nil,
            activity.cards[device] == nil
        else { return }
        let isMeant =
            activity.users == nil || devices[device]?.user.map { activity.users?.contains($0) == true } == true
        guard isMeant, devices[device]?.startTokens["Game"] != nil else { return }
        activities[id]?.starts[device] = Start(sentAt: now)
        sendStart(id, to: device)
    }

    private func sendStart(_ id: String, to device: String) {
        guard let token = devices[device]?.startTokens["Game"], let revision = activities[id]?.revision else { return }
        pushes.append(
            Push(kind: .start, token: token, activity: id, revision: revision, keptFor: Self.startExpiration)
        )
    }

    func work() -> [Push] {
        for (id, activity) in activities.sorted(by: { $0.key < $1.key }) where !activity.isEnded {
            for (device, start) in activity.starts.sorted(by: { $0.key < $1.key })
            where !start.isSettled && start.repeats == 0 && now - start.sentAt > Self.startRetry {
                let isMeant =
                    activity.users == nil || devices[device]?.user.map { activity.users?.contains($0) == true } == true
                guard isMeant else { continue }
                activities[id]?.starts[device]?.repeats = 1
                sendStart(id, to: device)
            }
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
