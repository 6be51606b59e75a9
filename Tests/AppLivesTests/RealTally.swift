import APITypes
import ActivityModel
import Foundation
import HTTP1Server
import HTTPTypes
import Intake
import JSON
import NIOCore
import OrchestratorTestSupport
import Postgres
import Store
import TestSupport

@testable import HTTPAPI
@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import TallyKit

/// Tally itself in this process: its routes, its services, and Postgres. The simulator takes Apple's place.
///
/// All of them have the life's time. A daemon looks for work at fixed intervals, and in between when it has accepted
/// something. This one looks when something is due, so it needs no intervals.
final class RealTally: LifeServer {
    struct NeverRests: Error {}

    private static let beginning = LifePlan.beginning
    private static let ticketLife: Int64 = 3_600
    /// So often work may lead to other work that is due at the same moment.
    private static let mostRounds = 300

    let apple: any LifeApple
    private let phones: SimulatedPhones
    private let world: World
    private let responder: Responder
    private let clock: LifeClock
    private let databaseClock: VirtualClock
    /// The time that the database has, in milliseconds since 1970.
    private var databaseTime: Int64
    private var hasNews = false
    private(set) var nextWork: Double?
    private var changes = 0

    init(_ world: World, _ phones: SimulatedPhones, _ clock: LifeClock, _ databaseClock: VirtualClock) {
        self.world = world
        self.phones = phones
        self.clock = clock
        self.databaseClock = databaseClock
        apple = phones
        databaseTime = clock.milliseconds
        let limits = RateLimits(requestsPerSecond: nil, now: { clock.now })
        let metrics = PrometheusMetrics()
        responder = Responder(
            .api(service: world.orchestrator, metrics: metrics, limits: limits),
            service: world.orchestrator,
            maximumBodySize: 1 << 20,
            limits: limits,
            logger: world.orchestrator.logger
        )
    }

    func setTime(_ seconds: Double) { clock.seconds = seconds }

    /// The database gets the life's time.
    private func catchUp() async throws {
        let time = clock.milliseconds
        guard time > databaseTime else { return }
        try await databaseClock.set(time)
        databaseTime = time
    }

    // MARK: The app

    func ticket(_ request: TicketRequest, user: String?) async throws -> Ticket {
        try await catchUp()
        let answer = try await world.orchestrator.createTicket(
            world.app,
            RegistrationTicketRequest(
                environment: .production,
                deviceID: DeviceID(stored: request.deviceID),
                userID: request.signedOut ? nil : user.map { UserID(stored: $0) },
                activities: request.activities?.map { ActivityID(stored: $0) },
                ttlSeconds: Self.ticketLife
            )
        )
        let end = Self.beginning + clock.seconds + Double(Self.ticketLife)
        return Ticket(answer.ticket, expiresAt: Date(timeIntervalSince1970: end))
    }

    func take(_ report: Report, isNumbered: Bool) async throws -> Answer {
        try await catchUp()
        hasNews = true
        let body = ByteBuffer(bytes: try report.body())
        let head = HTTPRequest(
            method: report.subject == .receipts ? .post : .put,
            scheme: "http",
            authority: "tally",
            path: "/v1/apps/\(world.app.rawValue)/\(report.path)",
            headerFields: [
                .authorization: "Bearer \(report.ticket)", .contentType: "application/json",
                .contentLength: String(body.readableBytes),
            ]
        )
        let answer = try await responder.respond(to: HTTPCall(head: head, body: body))
        var text = Data()
        if case .bytes(let bytes) = answer.body { text = Data(bytes.readableBytesView) }
        return Answer(
            status: answer.status.code,
            retryAfter: RetryAfter.seconds(answer.headers[.retryAfter], sentAt: nil, now: Date.now),
            body: (try? JSONDecoder().decode(AnswerBody.self, from: text)) ?? AnswerBody()
        )
    }

    // MARK: The backend

    func begin(_ activity: String, users: [String]?) async throws {
        try await catchUp()
        hasNews = true
        let audience = Audience(users: users?.map { UserID(stored: $0) } ?? [], allOfType: users == nil)
        try await world.start(activity, to: audience, alert: users == [] ? nil : "Kick-off") {
            $0.attributes = JSONObject([("home", .string(activity))])
        }
    }

    func change(_ activity: String) async throws {
        try await catchUp()
        hasNews = true
        changes += 1
        // Its revision takes the place of the score, so something else must change.
        let note = JSONValue.string("change \(changes)")
        try await world.update(activity, score: 0) { $0.contentState["note"] = note }
    }

    func end(_ activity: String, atOnce: Bool) async throws {
        try await catchUp()
        hasNews = true
        let request = EndRequest(dismissal: .after(seconds: atOnce ? 0 : 14_400))
        // The app may be faster than its backend: then there is nothing to end yet.
        _ = try? await world.orchestrator.intake.end(world.app, ActivityID(stored: activity), request, origin: nil)
    }

    // MARK: Work

    func work() async throws -> [Push] {
        if hasNews || clock.seconds >= nextWork ?? .infinity {
            try await catchUp()
            hasNews = false
            try await doWhatIsDue()
        }
        return phones.take()
    }

    /// When the first work of each kind is due, in milliseconds since 1970.
    private static let question: Query = {
        let times = [WorkKind.segments, .cards].map { "ceil(extract(epoch FROM (\($0.earliest))) * 1000)::int8" }
        return Query(unescaped: "SELECT \(times.joined(separator: ", "))")
    }()

    /// Does it as the services of a daemon do: the dispatcher, and the watcher of cards.
    private func doWhatIsDue() async throws {
        for _ in 0..<Self.mostRounds {
            let due = try await world.database.query(Self.question).decoded(as: (Int64?, Int64?).self).first
            let (segments, cards) = (due?.0 ?? .max, due?.1 ?? .max)
            if segments <= databaseTime {
                try await serve()
            } else if cards <= databaseTime {
                _ = try await world.watchCards()
            } else {
                let next = min(segments, cards)
                nextWork = next == .max ? nil : clock.seconds(at: next)
                return
            }
        }
        throw NeverRests()
    }

    private func serve() async throws {
        let orchestrator = world.orchestrator
        try await orchestrator.deliveryStore.segments.takeAnnouncements()
        // The database may name those that are due at the same moment in any order.
        let leases = try await orchestrator.deliveryStore.segments.claim(limit: 100)
            .sorted { ($0.activityKey, $0.segment) < ($1.activityKey, $1.segment) }
        for lease in leases {
            let segments = [LeasedSegment(lease: lease)]
            _ = await SegmentGroup(room: orchestrator.delivery, slot: nil, segments: segments).run()
        }
    }

    // MARK: What Tally knows

    func knownPhone(_ device: String) async throws -> KnownPhone? {
        let rows = try await world.database.query(
            """
            SELECT d.user_id, encode(t.token, 'hex') FROM devices AS d LEFT JOIN start_tokens AS t USING (device_key)
            WHERE d.device_id = \(device)
            """
        )
        return try rows.decoded(as: (String?, String?).self).first.map { user, token in
            KnownPhone(user: user, startTokens: token.map { ["Game": $0] } ?? [:])
        }
    }

    func knownCard(_ activity: String, on device: String) async throws -> KnownCard {
        let card = try await world.tables.cards().first { $0.device == device && $0.activity == activity }
        guard let card, let token = card.token, !["rejected", "dead", "over"].contains(card.state) else { return .none }
        // Tally knows of a card that it has ended itself.
        if card.isEnded { return .none }
        return .token(token, isPending: card.isPending)
    }

    func shownRevision(_ activity: String, on device: String) async throws -> Int {
        // The backend may not have started it yet; then Tally shows no card of it.
        let page = try? await world.orchestrator.subscriptions(world.app, ActivityID(stored: activity), PageRequest())
        return page?.items.first { $0.deviceID.rawValue == device }?.shownRevision.map { Int($0) } ?? 0
    }
}
