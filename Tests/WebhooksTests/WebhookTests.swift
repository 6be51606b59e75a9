import APITypes
import ActivityModel
import Cryptography
import JSON
import Orchestrator
import OrchestratorTestSupport
import Postgres
import Store
import Testing

@testable import Webhooks

@Suite("Webhooks", .timeLimit(.minutes(2)))
struct WebhookTests {
    private static let hook = WebhookID(stored: "audit")
    private static let url = "https://hooks.example.com"

    @Test("A secret that Tally makes is shown once, and what is stored opens for this webhook alone")
    func secret() async throws {
        try await withRegistry { registry, app in
            let made = try await registry.putWebhook(app, Self.hook, WebhookRequest(url: Self.url))
            let secret = try #require(made.secret.flatMap { WebhookSecret($0) })
            #expect(try await registry.putWebhook(app, Self.hook, WebhookRequest(url: Self.url)).secret == nil)
            #expect(try await registry.webhooks(app, PageRequest()).items.map(\.secret) == [nil])
            let rows = try await registry.database.query("SELECT secret_sealed FROM webhooks")
            let sealed = try #require(try rows.single([UInt8].self))
            let keys = registry.masterKeys
            #expect(try SecretSeal.webhook(app, Self.hook).open(sealed, under: keys) == secret.bytes)
            #expect(throws: CryptographyError.self) {
                try SecretSeal.webhook(app, WebhookID(stored: "other")).open(sealed, under: keys)
            }
            let own = WebhookRequest(url: Self.url, secret: WebhookSecret.generate().text)
            #expect(try await registry.putWebhook(app, Self.hook, own).secret == nil)
            let changed = try #require(
                try await registry.database.query("SELECT secret_sealed FROM webhooks").single([UInt8].self)
            )
            let kept = try SecretSeal.webhook(app, Self.hook).open(changed, under: keys)
            #expect(WebhookSecret(bytes: kept).text == own.secret)
        }
    }

    @Test("A wrong secret and unknown or no kinds are 422 with the field")
    func refused() async throws {
        try await withRegistry { registry, app in
            let short = "whsec_" + Base64.encode([UInt8](repeating: 1, count: 23))
            for secret in ["abc", "whsec_!", short] {
                let request = WebhookRequest(url: Self.url, events: ["unheard_of"], secret: secret)
                let refusal = try await problem { _ = try await registry.putWebhook(app, Self.hook, request) }
                #expect(refusal?.status == 422)
                #expect(refusal?.errors.map(\.pointer.description) == ["/events", "/secret"])
            }
            let none = WebhookRequest(url: Self.url, events: [])
            #expect(try await problem { _ = try await registry.putWebhook(app, Self.hook, none) }?.status == 422)
            #expect(try await registry.webhooks(app, PageRequest()).items.isEmpty)
        }
    }

    @Test("An unknown app or webhook is 404, and a deleted webhook is unknown")
    func unknown() async throws {
        try await withRegistry { registry, app in
            let other = BundleID(stored: "com.example.other")
            let request = WebhookRequest(url: Self.url)
            #expect(try await problem { _ = try await registry.putWebhook(other, Self.hook, request) }?.status == 404)
            #expect(try await problem { _ = try await registry.webhooks(other, PageRequest()) }?.status == 404)
            #expect(try await problem { _ = try await registry.webhook(app, Self.hook) }?.status == 404)
            let replay = WebhookReplayRequest(since: Instant(unixSeconds: 0))
            #expect(
                try await problem { _ = try await registry.replayWebhook(app, Self.hook, replay) }?.status == 404
            )
            _ = try await registry.putWebhook(app, Self.hook, request)
            try await registry.deleteWebhook(app, Self.hook)
            #expect(try await problem { try await registry.deleteWebhook(app, Self.hook) }?.status == 404)
        }
    }

    @Test("An app has at most 100 webhooks, and all of them can be changed")
    func most() async throws {
        try await withRegistry { registry, app in
            _ = try await registry.putWebhook(app, Self.hook, WebhookRequest(url: Self.url))
            _ = try await registry.database.execute(
                """
                INSERT INTO webhooks (bundle_id, webhook_id, url, secret_sealed, batch_size, transaction_id, event_id)
                SELECT bundle_id, 'w' || n, url, secret_sealed, batch_size, transaction_id, event_id
                FROM webhooks, generate_series(1, 99) AS n
                """
            )
            let more = WebhookID(stored: "more")
            let refusal = try await problem {
                _ = try await registry.putWebhook(app, more, WebhookRequest(url: Self.url))
            }
            #expect(refusal?.status == 422)
            #expect(refusal?.detail == "An app has at most 100 webhooks. Delete one first.")
            _ = try await registry.putWebhook(app, Self.hook, WebhookRequest(url: Self.url, maxEvents: 7))
            try await registry.deleteWebhook(app, Self.hook)
            _ = try await registry.putWebhook(app, more, WebhookRequest(url: Self.url))
        }
    }

    @Test(
        "The audit log shows scheme and host of a URL",
        arguments: [
            ("https://hooks.example.com/T0/s3cret?key=s3cret", "https://hooks.example.com/… "),
            ("https://hooks.example.com?s3cret", "https://hooks.example.com/… "),
            ("HTTPS://me:s3cret@hooks.example.com:8443/", "https://hooks.example.com/… "),
            ("https://[2001:db8::1]:8443/s3cret", "https://[2001:db8::1]/… "), ("s3cret", "… "),
        ]
    )
    func recorded(url: String, start: String) throws {
        let resource = WebhookResource(
            id: Self.hook,
            url: url,
            maxEvents: 1,
            createdAt: Instant(unixSeconds: 0)
        )
        let shown = try #require(resource.recorded["url"]?.string)
        #expect(shown.hasPrefix(start + "(sha256 ") && shown.hasSuffix(")"))
        #expect(shown.count == start.count + "(sha256 1a2b3c4d)".count)
        #expect(!shown.contains("s3cret"))
    }

    @Test("Pauses between tries grow, obey the receiver up to two hours, and end after a day")
    func retries() {
        func decision(_ answer: WebhookAnswer, _ failures: Int = 0, _ time: Duration = .zero) -> WebhookRetries.Decision
        {
            WebhookRetries.decision(answer, failures: failures, failingFor: time, jitter: 0)
        }
        let error = WebhookAnswer.status(500)
        for (failures, seconds) in [(0, 5), (1, 60), (2, 300), (3, 1_800), (4, 7_200), (99, 7_200)] {
            #expect(decision(error, failures) == .retry(after: .seconds(seconds), error: "HTTP 500"))
        }
        #expect(decision(.status(204)) == .delivered)
        #expect(decision(.status(302)) == .retry(after: .seconds(5), error: "HTTP 302"))
        #expect(decision(.status(410)) == .pause(.gone, error: "HTTP 410"))
        #expect(
            decision(.status(429, retryAfter: .seconds(90))) == .retry(after: .seconds(90), error: "HTTP 429")
        )
        #expect(
            decision(.status(429, retryAfter: .seconds(86_400))) == .retry(after: .seconds(7_200), error: "HTTP 429")
        )
        #expect(
            decision(.failed("no connection"), 20, .seconds(86_340))
                == .retry(after: .seconds(60), error: "no connection")
        )
        #expect(
            decision(.failed("no connection"), 20, .seconds(86_400)) == .pause(.unreachable, error: "no connection")
        )
    }
}
