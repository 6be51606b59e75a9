import APITypes
import ActivityModel
import Intake
import JSON
import MetricsTestKit
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator
@testable import Record

@Suite("Receipts: what apps see on their cards", .timeLimit(.minutes(2)))
struct ReceiptTests {
    private static func take(
        _ world: World,
        _ device: String = "d1",
        _ receipts: (activity: String, revision: Revision, age: Int64?)...
    ) async throws {
        try await world.orchestrator.intake.takeReceipts(
            world.app,
            DeviceID(stored: device),
            receipts.map {
                CardReceipt(
                    activityID: ActivityID(stored: $0.activity),
                    revision: $0.revision,
                    ageMilliseconds: $0.age
                )
            }
        )
    }

    /// The revisions that the cards of an activity are known to show, by device.
    private static func shown(_ world: World, _ id: String = "final") async throws -> [String: Revision] {
        let page = try await world.orchestrator.subscriptions(world.app, ActivityID(stored: id), PageRequest())
        return page.items.reduce(into: [:]) { $0[$1.deviceID.rawValue] = $1.shownRevision }
    }

    private static func story(_ world: World, _ device: String = "d1") async throws -> TimelineAnswer {
        try await world.orchestrator.timeline(
            world.app,
            ActivityID(stored: "final"),
            device: DeviceID(stored: device),
            PageRequest(limit: 100)
        )
    }

    /// The whole minutes from accept to shown that the metrics were told.
    private static func minutes(_ metrics: TestMetrics) -> [Int64] {
        metrics.timers(
            label: "tally_shown_seconds",
            dimensions: [("environment", "production"), ("urgency", "routine")]
        ).flatMap(\.values).map { $0 / 60_000_000_000 }
    }

    private static let minute: Int64 = 60_000

    @Test("A receipt is the verdict on its card and an entry of its timeline")
    func explained() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            try await world.pass(3600)
            try await Self.take(world, "d1", ("final", 2, 20 * Self.minute))
            let story = try await Self.story(world)
            #expect(story.verdict.code == "shown")
            #expect(story.verdict.text.hasPrefix("The phone confirmed revision 2"))
            let entry = try #require(story.page.items.first { $0.kind == "shown" })
            #expect(entry.revision == 2)
            #expect(entry.deviceID?.rawValue == "d1")
            let delay = try #require(entry.delayMilliseconds)
            #expect(delay / Self.minute == 40)
            #expect(entry.text.hasPrefix("The phone confirmed revision 2: its card showed it"))
            try await world.update(score: 2)
            try await world.settle()
            let later = try await Self.story(world)
            #expect(later.verdict.code == "sent_low_priority")
            #expect(later.verdict.text.contains("The phone last confirmed revision 2"))
        }
    }

    @Test("The newest receipt of a card counts; older ones, and the same again, are no news")
    func newest() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let daemon = world.sibling(metrics: metrics)
            try await daemon.withIntake {
                try await world.start(alert: nil)
                try await world.follow("d1", token: "aa01")
                for score in 1...3 { try await world.update(score: Int64(score)) }
                try await world.pass(3600)
                try await Self.take(
                    daemon,
                    "d1",
                    ("final", 3, 10 * Self.minute),
                    ("final", 2, 30 * Self.minute),
                    ("final", 3, 5 * Self.minute)
                )
                #expect(try await Self.shown(world) == ["d1": 3])
                #expect(Self.minutes(metrics).sorted() == [30, 50])
                try await Self.take(daemon, "d1", ("final", 2, 0), ("final", 3, 0))
                #expect(Self.minutes(metrics).count == 2)
                try await Self.take(daemon, "d1", ("final", 4, nil))
                #expect(try await Self.shown(world) == ["d1": 4])
                // The app found it there, so nobody knows since when.
                #expect(Self.minutes(metrics).count == 2)
            }
        }
    }

    @Test("A revision that is older than the card tells nothing of delays")
    func lateCard() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let daemon = world.sibling(metrics: metrics)
            try await daemon.withIntake {
                try await world.start(alert: nil)
                try await world.update(score: 1)
                try await world.pass(100)
                try await world.follow("d1", token: "aa01")
                try await Self.take(daemon, "d1", ("final", 2, 0))
                #expect(try await Self.shown(world) == ["d1": 2])
                #expect(Self.minutes(metrics).isEmpty)
            }
        }
    }

    @Test("An age from before the accept counts from the accept")
    func tooOld() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let daemon = world.sibling(metrics: metrics)
            try await daemon.withIntake {
                try await world.start(alert: nil)
                try await world.follow("d1", token: "aa01")
                try await world.update(score: 1)
                try await Self.take(daemon, "d1", ("final", 2, CardReceipt.maximumAge))
                #expect(Self.minutes(metrics) == [0])
                let entry = try await Self.story(world).page.items.first { $0.kind == "shown" }
                #expect(entry?.delayMilliseconds == 0)
            }
        }
    }

    @Test("What an app makes up is ignored: other cards, activities, devices and revisions to come")
    func madeUp() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.start("other", alert: nil)
            try await world.follow("d1", token: "aa01")
            try await world.follow("d2", token: "aa02", in: "other")
            try await world.settle()
            let before = try await Self.story(world)
            try await Self.take(world, "d1", ("final", 2, 0), ("other", 1, 0), ("none", 1, 0))
            try await Self.take(world, "nobody", ("final", 1, 0))
            #expect(try await Self.shown(world).isEmpty)
            #expect(try await Self.shown(world, "other").isEmpty)
            let after = try await Self.story(world)
            #expect(after.verdict == before.verdict)
            #expect(after.page.items == before.page.items)
            #expect(try await world.isAtRest())
        }
    }

    @Test("A receipt moves no push: the card is sent what it was sent before")
    func movesNothing() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            try await Self.take(world, "d1", ("final", 2, 0))
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("Receipts wait for no activity that somebody has locked")
    func locksNoActivity() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01")
            try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT activity_key FROM activities FOR UPDATE")
                try await Self.take(world, "d1", ("final", 1, 0))
            }
            #expect(try await Self.shown(world) == ["d1": 1])
        }
    }

    @Test("Receipts of many devices at once are stored, each for its own card")
    func together() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            for number in 1...9 { try await world.follow("d\(number)", token: "aa0\(number)") }
            try await world.update(score: 1)
            try await withThrowingTaskGroup { group in
                for number in 1...9 {
                    group.addTask {
                        try await Self.take(world, "d\(number)", ("final", Revision(1 + number % 2), nil))
                    }
                }
                try await group.waitForAll()
            }
            let shown = try await Self.shown(world)
            for number in 1...9 { #expect(shown["d\(number)"] == Revision(1 + number % 2)) }
        }
    }
}
