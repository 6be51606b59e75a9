import APITypes
import ActivityModel
import Foundation
import HTTP1Server
import HTTPTypes
import JSON
import NIOCore
import Orchestrator
import OrchestratorTestSupport
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI
@testable import TallyKit

/// Tally itself in this process: its routes, its services, and Postgres. A recorder takes Apple's place.
///
/// Its time follows the life's: whatever stands in the database is made older. Only tickets would not notice, so their
/// expiry is checked here.
final class RealTally: LifeServer {
    /// Between two looks at what is due, nothing having come in.
    private static let pause: Double = 5
    private static let ticketLife: Double = 3600

    private let world: World
    private let responder: Responder
    private let clock: LifeClock
    private let beginning: Double
    private var passed: Int64 = 0
    private var tickets: [String: Double] = [:]
    private var hasNews = false
    private var lastLook = 0.0
    private var changes = 0

    init(_ world: World, beginning: Double) {
        self.world = world
        self.beginning = beginning
        let clock = LifeClock()
        self.clock = clock
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

    private func catchUp() async throws {
        let seconds = Int64(clock.seconds) - passed
        guard seconds > 0 else { return }
        try await world.pass(seconds)
        passed += seconds
    }

    // MARK: The app

    func ticket(_ request: TicketRequest, user: String?) async throws -> Ticket {
        let answer = try await world.orchestrator.createTicket(
            world.app,
            RegistrationTicketRequest(
                environment: .production,
                deviceID: DeviceID(stored: request.deviceID),
                userID: request.signedOut ? nil : user.map { UserID(stored: $0) },
                activities: request.activities?.map { ActivityID(stored: $0) },
                ttlSeconds: RegistrationTicketRequest.maximumSeconds
            )
        )
        tickets[answer.ticket] = clock.seconds + Self.ticketLife
        return Ticket(
            answer.ticket,
            expiresAt: Date(timeIntervalSince1970: beginning + clock.seconds + Self.ticketLife)
        )
    }

    func take(_ report: Report, isNumbered: Bool) async throws -> Answer {
        guard clock.seconds < tickets[report.ticket] ?? 0 else { return Answer(status: 401) }
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
        _ = try? await world.orchestrator.end(world.app, ActivityID(stored: activity), request, origin: nil)
    }

    func work() async throws -> [Push] {
        guard hasNews || clock.seconds - lastLook >= Self.pause else { return [] }
        try await catchUp()
        hasNews = false
        lastLook = clock.seconds
        try await world.settle()
        _ = try await world.watchCards()
        return world.recorder.take().compactMap(Self.push)
    }

    private static func push(_ sent: Recorder.Push) -> Push? {
        let stamp = sent.aps["timestamp"]?.int64 ?? 0
        let keptFor = Double(max(0, (sent.expiration ?? stamp) - stamp))
        let kind: Push.Kind
        switch sent.event {
        case "start": kind = .start
        case "update": kind = .update
        case "end": kind = .end(atOnce: sent.aps["dismissal-date"]?.int64.map { $0 <= stamp + 1 } == true)
        default: return nil
        }
        return Push(
            kind: kind,
            token: sent.destination,
            activity: sent.aps["attributes"]?.object?["home"]?.string ?? "",
            revision: sent.score.map { Int($0) } ?? 0,
            keptFor: keptFor
        )
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

/// The time of a life, for the daemon's own clocks.
final class LifeClock: Sendable {
    private let began = ContinuousClock.now
    private let passed = Mutex(0.0)

    /// Since the beginning of the life.
    var seconds: Double {
        get { passed.withLock { $0 } }
        set { passed.withLock { $0 = newValue } }
    }
    var now: ContinuousClock.Instant { began + .seconds(seconds) }
}
