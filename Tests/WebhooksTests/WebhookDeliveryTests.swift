import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Ownership
import Postgres
import Record
import ServiceLifecycle
import Store
import TestSupport
import Testing

@testable import Orchestrator
@testable import OrchestratorTestSupport
@testable import Webhooks

@Suite("Delivery to webhooks", .timeLimit(.minutes(2)))
struct WebhookDeliveryTests {
    private static let hook = WebhookID(stored: "audit")
    private static let url = "https://hooks.example.com"

    @discardableResult
    private func put(
        _ world: World,
        _ request: WebhookRequest = WebhookRequest(url: url)
    ) async throws -> WebhookResource {
        try await world.orchestrator.putWebhook(world.app, Self.hook, request)
    }

    private func key(_ world: World) async throws -> Int64 {
        try #require(try await world.number("SELECT webhook_key FROM webhooks"))
    }

    private func work(_ world: World, _ receiver: WebhookReceiver) async throws {
        let worker = WebhookWorker(
            webhooks: world.orchestrator.webhookRoom,
            sender: receiver,
            key: try await key(world),
            patience: .zero
        )
        try await worker.run()
    }

    /// Accepts changes and waits until readers may see them: the tests share one cluster, whose other transactions hold
    /// the order of events open.
    private func change(_ world: World, _ scores: ClosedRange<Int64>) async throws {
        for score in scores {
            if score == 0 { _ = try await world.start() } else { _ = try await world.update(score: score) }
        }
        _ = try await world.events()
    }

    private func passPause(_ world: World) async throws {
        _ = try await world.database.execute(
            "UPDATE webhooks SET next_try_at = clock_timestamp() - interval '1 second'"
        )
    }

    @Test("Every event arrives once, in order, signed, in as many messages as the webhook wants")
    func order() async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            let made = try await put(world, WebhookRequest(url: Self.url, events: ["change_accepted"], maxEvents: 3))
            let secret = try #require(made.secret.flatMap { WebhookSecret($0) })
            try await change(world, 0...7)
            try await work(world, receiver)
            let posts = receiver.posts
            #expect(posts.map(\.events.count) == [3, 3, 2])
            let revisions = posts.flatMap(\.events).map { $0["detail"]?["revision"]?.int64 }
            #expect(revisions == Array(1...8))
            #expect(Set(posts.map(\.id)).count == 3)
            #expect(posts.allSatisfy { $0.isSigned(by: secret) && $0.id.hasPrefix("msg_") })
            try await work(world, receiver)
            #expect(receiver.posts.count == 3)
            let shown = try await world.orchestrator.webhook(world.app, Self.hook)
            #expect(shown.deliveredAt != nil)
            #expect(shown.secret == nil)
        }
    }

    @Test("A failed message is repeated after its pause, the same in id and bytes, and later events wait behind it")
    func retries() async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            try await put(world)
            try await change(world, 0...1)
            receiver.answer(.status(500), .failed("no connection"))
            try await work(world, receiver)
            let failing = try await world.orchestrator.webhook(world.app, Self.hook)
            #expect(failing.lastError == "HTTP 500")
            #expect(failing.failingSince != nil)
            #expect(failing.nextTryAt != nil)
            try await work(world, receiver)
            #expect(receiver.posts.count == 1)

            try await change(world, 2...2)
            try await passPause(world)
            try await work(world, receiver)
            try await passPause(world)
            try await work(world, receiver)
            let posts = receiver.posts
            #expect(posts.count == 4)
            #expect(Set(posts.prefix(3).map(\.id)).count == 1)
            #expect(Set(posts.prefix(3).map(\.body)).count == 1)
            #expect(posts[3].id != posts[0].id)
            let ids = posts[2].eventIDs + posts[3].eventIDs
            #expect(Set(ids).count == ids.count)
            #expect(try await world.orchestrator.webhook(world.app, Self.hook).failingSince == nil)
        }
    }

    @Test("The first of several failures in a row is logged, with its reason")
    func failureInLog() async throws {
        try await withWorld { world in
            let lines = LogLines()
            let receiver = WebhookReceiver()
            let daemon = Orchestrator(
                database: world.database,
                sender: world.recorder,
                masterKeys: world.orchestrator.masterKeys,
                settings: OrchestratorSettings(),
                logger: lines.logger
            )
            try await put(world)
            try await change(world, 0...1)
            receiver.answer(.failed("the address is not allowed"), .failed("the address is not allowed"))
            for _ in 1...2 {
                let worker = WebhookWorker(
                    webhooks: daemon.webhookRoom,
                    sender: receiver,
                    key: try await key(world),
                    patience: .zero
                )
                try await worker.run()
                try await passPause(world)
            }
            #expect(receiver.posts.count == 2)
            #expect(lines.all.count { $0.contains("the address is not allowed") } == 1)
        }
    }

    @Test("A daemon that dies after the answer leaves the message to another, which repeats it with its id")
    func crash() async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            try await put(world)
            try await change(world, 0...1)
            // The worker's write of its place then changes nothing, as if it had never happened.
            receiver.beforeNextAnswer {
                _ = try await world.database.execute("UPDATE webhooks SET version = version + 1")
                try await self.change(world, 2...3)
            }
            try await work(world, receiver)
            #expect(receiver.posts.count == 1)
            try await work(world, receiver)
            let posts = receiver.posts
            #expect(posts[1].id == posts[0].id)
            #expect(posts[1].body == posts[0].body)
            #expect(posts.count == 3)
            #expect(Set(posts[1].eventIDs).isDisjoint(with: posts[2].eventIDs))
        }
    }

    @Test("An address that fails for 24 hours is paused and reported; it keeps its place, and a change resumes it")
    func pauses() async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            try await put(world)
            try await change(world, 0...1)
            receiver.answer(.status(503), .status(503))
            try await work(world, receiver)
            _ = try await world.database.execute(
                "UPDATE webhooks SET failing_since = clock_timestamp() - interval '24 hours'"
            )
            try await passPause(world)
            try await work(world, receiver)
            #expect(try await world.orchestrator.webhook(world.app, Self.hook).pausedBecause == .unreachable)
            let event = try #require(try await world.events(.webhookPaused).first)
            #expect(event.app == world.app)
            #expect(event.detail["webhook_id"]?.string == "audit")
            #expect(event.detail["reason"]?.string == "unreachable")
            #expect(event.detail["error"]?.string == "HTTP 503")
            try await work(world, receiver)
            #expect(receiver.posts.count == 2)

            try await put(world)
            try await work(world, receiver)
            let posts = receiver.posts
            #expect(posts[2].id == posts[0].id)
            #expect(posts[2].body == posts[0].body)
            #expect(try await world.orchestrator.webhook(world.app, Self.hook).pausedBecause == nil)
        }
    }

    @Test("Events that were deleted before their delivery are reported as a gap, once")
    func gap() async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            try await put(world)
            _ = try await world.database.execute(
                "UPDATE webhooks SET read_at = clock_timestamp() - interval '20 days'"
            )
            try await work(world, receiver)
            try await work(world, receiver)
            let gaps = try await world.events(.webhookGap)
            #expect(gaps.count == 1)
            #expect(gaps.first?.detail["webhook_id"]?.string == "audit")
        }
    }

    @Test("A replay delivers the events since a time again, in messages of their own")
    func replay() async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            try await put(world)
            try await change(world, 0...2)
            try await work(world, receiver)
            let before = receiver.posts
            let since = Instant(microseconds: try await world.orchestrator.clock.now().microseconds - 7_200_000_000)
            let request = WebhookReplayRequest(since: since)
            _ = try await world.orchestrator.replayWebhook(world.app, Self.hook, request)
            try await work(world, receiver)
            let again = receiver.posts.dropFirst(before.count)
            #expect(again.flatMap(\.eventIDs).suffix(3) == before.flatMap(\.eventIDs).suffix(3))
            #expect(Set(again.map(\.id)).isDisjoint(with: before.map(\.id)))
        }
    }

    @Test("An address that never answers delays no other webhook")
    func deadEndpoint() async throws {
        try await withWorld { world in
            let receiver = TwoFacedReceiver()
            let daemon = Orchestrator(
                database: world.database,
                sender: world.recorder,
                webhooks: receiver,
                masterKeys: world.orchestrator.masterKeys,
                settings: world.orchestrator.settings,
                logger: world.orchestrator.logger
            )
            for name in ["dead", "alive"] {
                let request = WebhookRequest(url: "https://\(name).example.com", events: ["change_accepted"])
                _ = try await world.orchestrator.putWebhook(world.app, WebhookID(stored: name), request)
            }
            try await change(world, 0...1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await daemon.partitions.run() }
                group.addTask { await daemon.deliveryStore.dueWork.run() }
                group.addTask { await WebhookDuty(daemon.webhookRoom, interval: .milliseconds(20)).run() }
                try await eventually(
                    "both are asked, and one has answered",
                    is: { receiver.dead.posts.count == 1 && receiver.alive.posts.flatMap(\.events).count == 2 }
                )
                group.cancelAll()
            }
        }
    }

    private func claim(
        _ world: World,
        except busy: [String] = [],
        limit: Int,
        share: Int = 64
    ) async throws -> [String] {
        let partitions = Array(0..<Ownership.partitions)
        let busy = try await world.database.query(
            "SELECT webhook_key FROM webhooks WHERE webhook_id = ANY(\(busy))"
        ).decoded(as: Int64.self)
        let rows = world.orchestrator.webhookRoom.rows
        let keys = try await rows.claim(in: partitions, except: busy, limit: limit, share: share)
        return try await world.database.query(
            "SELECT webhook_id FROM webhooks WHERE webhook_key = ANY(\(keys)) ORDER BY webhook_id"
        ).decoded(as: String.self)
    }

    private func put(_ names: [String], of app: BundleID, _ world: World) async throws {
        for name in names {
            let request = WebhookRequest(url: "https://\(name).example.com")
            _ = try await world.orchestrator.putWebhook(app, WebhookID(stored: name), request)
        }
    }

    @Test("Webhooks whose addresses fail do not go before one that has waited longer, however old their events are")
    func turns() async throws {
        try await withWorld { world in
            try await put(["dead", "alive"], of: world.app, world)
            func due(triedAgo: Int) async throws -> [String] {
                _ = try await world.database.pipeline([
                    "UPDATE webhooks SET served_at = clock_timestamp() - interval '10 seconds'",
                    """
                    UPDATE webhooks SET read_at = clock_timestamp() - interval '1 hour',
                        served_at = clock_timestamp() - interval '1 hour',
                        next_try_at = clock_timestamp() - \(triedAgo) * interval '1 second'
                    WHERE webhook_id = 'dead'
                    """,
                ])
                return try await claim(world, limit: 1)
            }
            #expect(try await due(triedAgo: 1) == ["alive"])
            #expect(try await due(triedAgo: 20) == ["dead"])
            #expect(try await due(triedAgo: -5) == ["alive"])
        }
    }

    @Test("Receivers that answer slowly and are far behind do not keep others from their turn")
    func slowReceivers() async throws {
        try await withWorld { world in
            try await put(["slow-1", "slow-2", "well"], of: world.app, world)
            // A slow one advances, but its events stay older than those of all others.
            func fallBehind() async throws {
                _ = try await world.database.execute(
                    """
                    UPDATE webhooks SET read_at = clock_timestamp() - interval '1 hour'
                    WHERE webhook_id LIKE 'slow-%'
                    """
                )
            }
            var turns: [String] = []
            for _ in 0..<2 {
                try await fallBehind()
                turns += try await claim(world, limit: 2)
            }
            #expect(Set(turns) == ["slow-1", "slow-2", "well"])
        }
    }

    @Test("While webhooks of other apps wait, an app has only its share of the places")
    func shares() async throws {
        try await withWorld { world in
            let other = BundleID(stored: "com.example.other")
            _ = try await world.database.execute(
                "INSERT INTO apps (bundle_id, team_id) VALUES (\(other.rawValue), 'ABCDE12345')"
            )
            try await put(["a1", "a2", "a3", "a4"], of: world.app, world)
            try await put(["b1", "b2"], of: other, world)
            // Those of the first app have waited longer.
            #expect(try await claim(world, limit: 4, share: 2) == ["a1", "a2", "b1", "b2"])
            #expect(try await claim(world, except: ["a1", "a2"], limit: 2, share: 2) == ["b1", "b2"])
            // Nobody else waits.
            #expect(try await claim(world, except: ["a1", "a2", "b1", "b2"], limit: 2, share: 2) == ["a3", "a4"])
        }
    }

    /// One address that answers, and one that does not until the daemon stops.
    private struct TwoFacedReceiver: WebhookSender {
        let dead = WebhookReceiver()
        let alive = WebhookReceiver()

        func refusal(of url: String) -> String? { nil }

        func endpoint(at url: String) -> any WebhookEndpoint {
            guard url.contains("dead") else { return alive }
            dead.beforeNextAnswer { try await Task.sleep(for: .seconds(3_600)) }
            return dead
        }
    }
}
