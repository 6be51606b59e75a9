import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Store
import TestSupport
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Intake
@testable import Orchestrator

@Suite("Broadcasts that are served together", .timeLimit(.minutes(2)))
struct PlainBroadcastTests {
    /// Starts activities `a1`, `a2`, … with a channel each, `channel1`, `channel2`, …; all at rest.
    private func matches(_ count: Int, in world: World) async throws {
        for number in 1...count {
            try await world.start("a\(number)", delivery: .channel)
            try await world.settle()
        }
        _ = world.recorder.take()
    }

    private func group(in world: World) async throws -> SegmentGroup {
        try await world.orchestrator.deliveryStore.segments.takeAnnouncements()
        return SegmentGroup(
            room: world.orchestrator.delivery,
            slot: nil,
            segments: try await world.orchestrator.deliveryStore.segments.claim(limit: 100).map {
                LeasedSegment(lease: $0)
            }
        )
    }

    private func plain(_ group: SegmentGroup) async throws -> [PlainUpdate] {
        try await group.room.segments.smallSegments(among: group.segments.map(\.lease).filter(\.isChannel))
            .compactMap(\.update)
    }

    /// How far the channels have come, whether they are due, leased or have failed, in the order of the activities.
    private func channels(_ world: World) async throws -> [String] {
        try await world.database.query(
            """
            SELECT concat_ws(' ', completed_revision, CASE WHEN due_at IS NOT NULL THEN 'due' END,
                             CASE WHEN lease_owner IS NOT NULL THEN 'leased' END, nullif(failures, 0) || ' failed')
            FROM segments WHERE segment = -1 ORDER BY activity_key
            """
        ).decoded(as: String.self)
    }

    private func sentRevisions(_ world: World) async throws -> [Int64] {
        try await world.database.query(
            """
            SELECT revision FROM changes AS c WHERE \(unescaped: SentChange.isSent("c")) AND revision > 1
            ORDER BY activity_key
            """
        )
        .decoded(as: Int64.self)
    }

    @Test("Each channel is sent its newest state once; what came of all is stored at once, and told")
    func together() async throws {
        try await withWorld { world in
            try await matches(5, in: world)
            for number in 1...5 { try await world.update("a\(number)", score: Int64(number)) }
            let group = try await group(in: world)
            #expect(try await plain(group).count == 5)
            let outcome = await group.run()
            #expect(!outcome.hadOther && !outcome.mayHaveMore)
            let pushes = world.recorder.take().sorted { $0.destination < $1.destination }
            #expect(pushes.map(\.destination) == (1...5).map { "channel\($0)" })
            #expect(pushes.map(\.score) == [1, 2, 3, 4, 5])
            #expect(pushes.allSatisfy { $0.priority == .five && $0.event == "update" })
            #expect(try await channels(world) == Array(repeating: "2", count: 5))
            #expect(try await sentRevisions(world) == [2, 2, 2, 2, 2])
            let transactions = "SELECT count(DISTINCT xmin::text) FROM segments WHERE segment = -1"
            #expect(try await world.number(Query(unescaped: transactions)) == 1)
            let story = try await world.explain(of: "a3").page.items.filter { $0.revision == 2 }
            #expect(Set(story.map(\.kind)) == ["accepted", "priority", "push"])
        }
    }

    /// What asks for more than a state to be broadcast soon.
    enum Case: String, Sendable, CaseIterable {
        case alert, notable, mustDeliver, jumpedOver, end, lateCard, lateStart, old
    }

    @Test("What asks for more than a state to be sent soon is not served so", arguments: Case.allCases)
    func others(_ other: Case) async throws {
        try await withWorld { world in
            if other == .lateStart { try await world.register("d1", token: "5a01", os: "18.0") }
            try await world.start("a1", to: other == .lateStart ? World.devices("d1") : Audience(), delivery: .channel)
            try await world.settle()
            switch other {
            case .alert: try await world.update("a1", score: 1, alert: "Goal")
            case .notable: try await world.update("a1", score: 1) { $0.urgency = .notable }
            case .mustDeliver: try await world.update("a1", score: 1, mustDeliver: true)
            case .jumpedOver:
                try await world.update("a1", score: 1, alert: "Goal")
                try await world.update("a1", score: 2)
            case .end: try await world.end("a1", score: 1)
            case .lateCard:
                try await world.report("d2", .channel, in: "a1", known: 0)
                try await world.update("a1", score: 1)
            case .lateStart:
                try await world.update("a1", score: 1)
                try await world.pass(700)
            case .old:
                try await world.update("a1", score: 1)
                try await world.pass(40)
            }
            let group = try await group(in: world)
            #expect(group.segments.contains { $0.lease.isChannel })
            #expect(try await plain(group).isEmpty)
            _ = await group.run()
            try await world.settle()
            #expect(world.recorder.pushes.contains { $0.destination == "channel1" && $0.event != "start" })
        }
    }

    @Test("A hundred channels are served by a few transactions")
    func hundred() async throws {
        try await withWorld { world in
            let count = 100
            for number in 1...count { try await world.start("a\(number)", delivery: .channel) }
            try await world.settle()
            let batch = (1...count).map { number in
                let update = UpdateRequest(contentState: World.state(Int64(number)))
                return KeyedOperation(
                    BatchOperation(.update(ActivityID(stored: "a\(number)"), update)),
                    idempotency: nil
                )
            }
            #expect(await world.orchestrator.intake.batch(world.app, batch, origin: nil).count == count)
            let group = try await group(in: world)
            let gate = world.recorder.close()
            async let served = group.run()
            await gate.arrivals(count)
            world.recorder.open()
            #expect(await served.hadOther == false)
            #expect(Set(world.recorder.take().compactMap(\.score)) == Set((1...count).map(Int64.init)))
            #expect(try await channels(world) == Array(repeating: "2", count: count))
            let transactions: Query = "SELECT count(DISTINCT xmin::text) FROM segments WHERE segment = -1"
            let stored = try await world.number(transactions) ?? 0
            #expect(stored < Int64(count) / 4)
        }
    }

    @Test("A channel that has fallen behind is served with the others; what it jumps over is told of as merged")
    func behind() async throws {
        try await withWorld { world in
            try await matches(3, in: world)
            try await world.update("a2", score: 9)
            for number in 1...3 { try await world.update("a\(number)", score: Int64(number)) }
            let group = try await group(in: world)
            #expect(try await plain(group).count == 3)
            _ = await group.run()
            let pushes = world.recorder.take().sorted { $0.destination < $1.destination }
            #expect(pushes.map(\.score) == [1, 2, 3])
            #expect(try await channels(world) == ["2", "3", "2"])
            #expect(try await sentRevisions(world) == [2, 3, 2])
            #expect(
                try await world.events(.changesMerged).map(\.detail) == [["into": 3, "revisions": [2], "count": 1]]
            )
        }
    }

    @Test("What a ring may still come to is merged by the ring, not by the channel beside it")
    func behindWithRing() async throws {
        try await withWorld { world in
            try await world.start("a1", delivery: .hybrid)
            try await world.follow("d1", token: "aa01", in: "a1", known: 1)
            try await world.settle()
            for score in 1...2 { try await world.update("a1", score: Int64(score)) }
            let broadcasts = try await plain(group(in: world))
            #expect(broadcasts.count == 1)
            _ = try await world.orchestrator.deliveryStore.segments.complete(broadcasts)
            let merged: Query = "SELECT count(*) FROM changes WHERE revision = 2 AND merged_into = 3"
            #expect(try await world.number(merged) == 0)
            try await world.expireLeases()
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [2])
            #expect(try await world.number(merged) == 1)
        }
    }

    @Test("Broadcasts that failed together are tried again together, and what is refused for good is not")
    func again() async throws {
        try await withWorld { world in
            try await matches(3, in: world)
            for number in 1...3 { try await world.update("a\(number)", score: 1) }
            world.recorder.answer("channel2", with: .badBody)
            world.recorder.answerAll(with: .tooMany)
            _ = await (try group(in: world)).run()
            #expect(try await channels(world) == ["1 due 1 failed", "2", "1 due 1 failed"])
            #expect(try await sentRevisions(world).isEmpty)
            _ = world.recorder.take()
            try await world.hurry()
            _ = await (try group(in: world)).run()
            #expect(try await channels(world) == ["1 due 2 failed", "2", "1 due 2 failed"])
            world.recorder.answerAll(with: nil)
            try await world.hurry()
            let group = try await group(in: world)
            #expect(try await plain(group).count == 2)
            _ = await group.run()
            #expect(try await channels(world) == ["2", "2", "2"])
            #expect(world.recorder.pushes(to: "channel2").isEmpty)
            try await world.update("a2", score: 2)
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel2").map(\.score) == [2])
        }
    }

    @Test("A broadcast that is not answered keeps no other one from being stored")
    func slow() async throws {
        try await withWorld { world in
            try await matches(3, in: world)
            for number in 1...3 { try await world.update("a\(number)", score: 1) }
            let group = try await group(in: world)
            let gate = world.recorder.close(for: "channel2")
            defer { gate.open() }
            async let served = group.run()
            await gate.arrivals()
            try await eventually("the others are stored") {
                try await channels(world) == ["2", "1 due leased", "2"]
            }
            gate.open()
            _ = await served
            #expect(try await channels(world) == ["2", "2", "2"])
        }
    }

    @Test("After a crash between the answer and its record the same bytes are broadcast again")
    func crash() async throws {
        try await withWorld { world in
            try await matches(1, in: world)
            try await world.update("a1", score: 1)
            let group = try await group(in: world)
            for broadcast in try await plain(group) { #expect(try await group.push(broadcast).isComplete) }
            try await world.expireLeases()
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.count == 2)
            #expect(Set(pushes.map(\.bytes)).count == 1)
        }
    }

    @Test("A start that is on the way keeps nothing back, and the channel is due when it has expired")
    func start() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", os: "18.0")
            try await world.start("a1", to: World.devices("d1"), delivery: .channel)
            try await world.settle()
            try await world.update("a1", score: 1)
            let group = try await group(in: world)
            #expect(try await plain(group).count == 1)
            _ = await group.run()
            #expect(try await channels(world) == ["2 due"])
            #expect(try await plain(self.group(in: world)).isEmpty)
        }
    }

    @Test("A change that comes while the answers are awaited is sent next")
    func meanwhile() async throws {
        try await withWorld { world in
            try await matches(2, in: world)
            for number in 1...2 { try await world.update("a\(number)", score: 1) }
            let group = try await group(in: world)
            let gate = world.recorder.close()
            async let served = group.run()
            await gate.arrivals(2)
            try await world.update("a1", score: 7)
            world.recorder.open()
            #expect(await served.mayHaveMore)
            #expect(try await channels(world) == ["2 due", "2"])
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [1, 7])
        }
    }

    @Test("Under a lost lease nothing is stored but that it was sent")
    func lostLease() async throws {
        try await withWorld { world in
            try await matches(1, in: world)
            try await world.update("a1", score: 1)
            let lost = try await plain(group(in: world))
            try await world.expireLeases()
            let other = try await group(in: world)
            #expect(try await !world.orchestrator.deliveryStore.segments.complete(lost))
            #expect(try await channels(world) == ["1 due leased"])
            #expect(try await sentRevisions(world) == [2])
            _ = await other.run()
            #expect(try await channels(world) == ["2"])
        }
    }

    @Test(
        "A failure makes it wait, and the rest of its group not; what may have arrived is on record",
        arguments: [(PushOutcome.unavailable, [2]), (.noAnswer, [2, 2])]
    )
    func failure(_ outcome: PushOutcome, sent: [Int64]) async throws {
        try await withWorld { world in
            try await matches(2, in: world)
            for number in 1...2 { try await world.update("a\(number)", score: 1) }
            world.recorder.answer("channel1", with: outcome)
            _ = await (try group(in: world)).run()
            #expect(try await channels(world) == ["1 due 1 failed", "2"])
            #expect(try await sentRevisions(world) == sent)
            try await world.settle()
            #expect(world.recorder.take().count == 2)
            // Another change does not cut the pause short.
            try await world.update("a1", score: 2)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
            #expect(try await channels(world) == ["3", "2"])
        }
    }

    @Test("A channel that is gone at Apple is replaced at once")
    func gone() async throws {
        try await withWorld { world in
            try await matches(1, in: world)
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update("a1", score: 1)
            #expect(try await plain(group(in: world)).count == 1)
            try await world.expireLeases()
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["channel1", "channel2"])
        }
    }
}
