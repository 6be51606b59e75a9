import APITypes
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import ServiceLifecycle
import Store
import Synchronization
import TestSupport
import Testing
import Ownership

@testable import Orchestrator
@testable import Record
@testable import Webhooks

/// What becomes of a webhook when its daemon dies, or when the database is restored.
@Suite("Webhooks that another daemon takes over", .timeLimit(.minutes(2)))
struct WebhookTakeoverTests {
    private static let hook = WebhookID(stored: "audit")
    private static let url = "https://hooks.example.com"

    private func daemon(
        in world: World,
        _ receiver: WebhookReceiver,
        _ uptime: @escaping @Sendable () -> Duration
    ) -> Orchestrator {
        var settings = world.orchestrator.settings
        settings.uptime = uptime
        return Orchestrator(
            database: world.database,
            sender: world.recorder,
            webhooks: receiver,
            masterKeys: world.orchestrator.masterKeys,
            settings: settings,
            logger: world.orchestrator.logger
        )
    }

    private func worker(of daemon: Orchestrator, _ receiver: WebhookReceiver, key: Int64) -> WebhookWorker {
        WebhookWorker(
            webhooks: daemon.webhookRoom,
            sender: receiver,
            key: key,
            patience: .zero,
            mayGoOn: { !daemon.partitions.owned.isEmpty }
        )
    }

    private func key(_ world: World) async throws -> Int64 {
        try #require(try await world.number("SELECT webhook_key FROM webhooks"))
    }

    @Test("A daemon that dies in the middle of a delivery is replaced by another: in order, nothing lost, same id")
    func takeover() async throws {
        try await withWorld { world in
            let time = Mutex(Duration.zero)
            let (first, second) = (WebhookReceiver(), WebhookReceiver())
            let dying = daemon(in: world, first) { time.withLock { $0 } }
            let heir = daemon(in: world, second) { time.withLock { $0 } }
            let request = WebhookRequest(url: Self.url, events: ["change_accepted"], maxEvents: 3)
            _ = try await world.orchestrator.putWebhook(world.app, Self.hook, request)
            for match in ["final", "semi"] { try await world.start(match) }
            for score in 1...4 as ClosedRange<Int64> {
                for match in ["final", "semi"] { try await world.update(match, score: score) }
            }
            let accepted = try await world.events(.changeAccepted).map(\.cursor.description)
            for _ in 0..<2 { try await dying.partitions.look() }

            // The receiver has taken the message, and its answer comes when the daemon is long declared dead.
            let (late, answer) = AsyncStream.makeStream(of: Void.self)
            first.beforeNextAnswer { for await _ in late { break } }
            let worker = worker(of: dying, first, key: try await key(world))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                try await eventually("the message is on its way", is: { first.posts.count == 1 })
                for _ in 0..<10 {
                    time.withLock { $0 += .milliseconds(500) }
                    try await heir.partitions.look()
                }
                #expect(heir.partitions.owned.count == 64 && dying.partitions.owned.isEmpty)
                try await withThrowingTaskGroup(of: Void.self) { duty in
                    duty.addTask { await heir.deliveryStore.dueWork.run() }
                    duty.addTask { await WebhookDuty(heir.webhookRoom, interval: .milliseconds(20)).run() }
                    try await eventually(
                        "all have arrived",
                        is: { second.posts.flatMap(\.events).count == accepted.count }
                    )
                    duty.cancelAll()
                }
                answer.yield()
                try await group.waitForAll()
            }
            #expect(first.posts.count == 1)
            #expect(second.posts[0].id == first.posts[0].id)
            #expect(second.posts[0].body == first.posts[0].body)
            #expect(second.posts.flatMap(\.eventIDs) == accepted)
            for match in ["final", "semi"] {
                let events = second.posts.flatMap(\.events).filter { $0["activity_id"]?.string == match }
                #expect(events.map { $0["detail"]?["revision"]?.int64 } == Array(1...5))
            }
            // Nothing is left, and what the dead daemon wrote at last has changed nothing.
            try await self.worker(of: heir, second, key: try await key(world)).run()
            #expect(second.posts.flatMap(\.events).count == accepted.count)
        }
    }

    /// As a dump of a busier server leaves them: numbers of transactions that this one has not reached.
    private func restore(_ world: World) async throws {
        for table in ["events", "changes", "webhooks"] {
            _ = try await world.database.execute(
                Query(
                    unescaped:
                        "UPDATE \(table) SET transaction_id = (transaction_id::text::bigint + 99000000000)::text::xid8"
                )
            )
        }
    }

    @Test(
        "After a restore from a dump, a webhook goes on with what was not delivered at the backup",
        arguments: [2, 5]
    )
    func restored(delivered: Int) async throws {
        try await withWorld { world in
            let receiver = WebhookReceiver()
            let daemon = daemon(in: world, receiver) { .zero }
            for _ in 0..<2 { try await daemon.partitions.look() }
            let request = WebhookRequest(url: Self.url, events: ["change_accepted"], maxEvents: 1)
            _ = try await world.orchestrator.putWebhook(world.app, Self.hook, request)
            try await world.start("match-1")
            for score in 1...4 as ClosedRange<Int64> { try await world.update("match-1", score: score) }
            _ = try await world.events()
            let key = try await key(world)
            let left = Mutex(delivered)
            var worker = worker(of: daemon, receiver, key: key)
            worker.mayGoOn = {
                left.withLock { left in
                    defer { left -= 1 }
                    return left > 0
                }
            }
            try await worker.run()
            #expect(receiver.posts.count == delivered)

            try await restore(world)
            try await RestoredEvents(database: world.database).settle()
            try await world.update("match-1", score: 9)
            _ = try await world.events()
            try await self.worker(of: daemon, receiver, key: key).run()
            let revisions = receiver.posts.flatMap(\.events).map { $0["detail"]?["revision"]?.int64 }
            #expect(revisions == Array(1...6))
            // A second start of a daemon changes nothing.
            try await RestoredEvents(database: world.database).settle()
            try await self.worker(of: daemon, receiver, key: key).run()
            #expect(receiver.posts.count == 6)
        }
    }
}
