import APITypes
import ActivityModel
import BenchSupport
import Cryptography
import Orchestrator
import Postgres
import Registry
import WebhookTransport
import Webhooks

/// Events that wait for a webhook, posted to a receiver of the bench. Beside it there may be webhooks whose receivers take
/// requests and never answer.
struct WebhookPosts: Sendable {
    private let options: Options
    private let count: Int
    private let dead: Int

    struct Result: Encodable {
        let events: Int
        let dead: Int
        /// From the request that ends the pause of the webhook to the last event that is stored as delivered. The daemon looks
        /// for webhooks once a second, and that only when a look for all kinds of work has found one.
        let seconds: Double
    }

    /// How long a step may take that depends on no number of events.
    private static let patience = Duration.seconds(30)
    /// With fewer events a second something is broken.
    private static let slowest = 500

    init(_ options: Options) throws {
        self.options = options
        count = try options.number("events")
        dead = options.has("dead") ? try options.number("dead") : 0
    }

    func run() async throws -> Result {
        let loopback = ["127.0.0.1"].compactMap { AddressBlock($0) }
        let daemon = try Daemon(options, webhooks: WebhookTransport(rules: AddressRules(allowed: loopback)))
        let url = try options.text("receiver")
        let silent = dead > 0 ? try options.text("silent") : ""
        let size = try options.number("batch")
        return try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            try await scene.register()
            let paused = WebhookRequest(url: url, isPaused: true, maxEvents: size)
            try await scene.put("alive", paused)
            for number in 0..<dead {
                try await scene.put("dead-\(number)", WebhookRequest(url: silent, isPaused: true, maxEvents: size))
            }
            try await scene.addEvents(count)
            try await scene.rest()
            for number in 0..<dead {
                try await scene.put("dead-\(number)", WebhookRequest(url: silent, maxEvents: size))
            }
            if dead > 0 {
                // All of them wait for an answer then.
                _ = try await scene.work(
                    until: "SELECT count(message_id) = \(dead) FROM webhooks WHERE webhook_id LIKE 'dead%'",
                    "each of the dead receivers has a message",
                    within: Self.patience,
                    every: .milliseconds(20)
                )
            }
            let began = ContinuousClock.now
            try await scene.put("alive", WebhookRequest(url: url, maxEvents: size))
            let ended = try await scene.work(
                until: """
                    SELECT (transaction_id, event_id) >= (
                        SELECT transaction_id, event_id FROM events ORDER BY transaction_id DESC, event_id DESC LIMIT 1
                    ) FROM webhooks WHERE webhook_id = 'alive'
                    """,
                "the last of \(count) events is delivered",
                within: Self.patience + .seconds(count / Self.slowest),
                every: .milliseconds(20)
            )
            return Result(events: count, dead: dead, seconds: ended.seconds(since: began))
        }
    }
}

extension Scene {
    /// The app alone.
    func register() async throws {
        let key = try SigningKeyRequest(keyID: KeyID(stored: "FGHIJ67890"), privateKey: P256PrivateKey.generate().pem())
        let request = AppRequest(teamID: TeamID(stored: "ABCDE12345"), environments: [.production: key])
        _ = try await orchestrator.registry.putApp(Self.app, request)
    }

    func put(_ id: String, _ request: WebhookRequest) async throws {
        _ = try await orchestrator.webhookRoom.put(Self.app, WebhookID(stored: id), request)
    }

    /// Events of a thousand activities, in turn.
    func addEvents(_ count: Int) async throws {
        // The daemon makes it at its start, and rows that are copied meanwhile would be in its way.
        _ = try await work(
            until: """
                SELECT to_regclass('events_' || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL
                """,
            "there is a partition for the events of today",
            within: .seconds(30)
        )
        _ = try await orchestrator.database.execute(
            """
            INSERT INTO events (kind, bundle_id, environment, activity_id, device_id, detail)
            SELECT 'token_died', \(Self.app.rawValue), 'production', 'match-' || n % 1000, 'device-' || n,
                   '{"token": "update", "reason": "410 Unregistered"}'
            FROM generate_series(1, \(Int64(count))) AS n ORDER BY n
            """,
            timeout: .seconds(600)
        )
    }
}
