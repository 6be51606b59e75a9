import APITypes
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Testing

@testable import Delivery
@testable import Orchestrator
@testable import Store

@Suite("Sending around the ring", .timeLimit(.minutes(2)))
struct RingTests {
    @Test("A change goes once to every update token, and the activity says so")
    func onePass() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...3 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            let accepted = try await world.update(score: 1)
            #expect(accepted.revision == 2)
            let before = try await world.show().progress
            #expect(before.destinations == 3)
            #expect(before.pending == 3)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == ["aa01", "aa02", "aa03"])
            #expect(pushes.allSatisfy { $0.event == "update" && $0.score == 1 && $0.timestamp == accepted.timestamp })
            #expect(pushes.allSatisfy { $0.topic == "com.example.app.push-type.liveactivity" && $0.priority == .five })
            #expect(Set(pushes.map(\.bytes)).count == 1)
            let after = try await world.show().progress
            #expect(after.current == 3)
            #expect(after.pending == 0)
        }
    }

    @Test("Changes that come before the pass are merged into the newest, which carries the newest alert")
    func latestWins() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            try await world.update(score: 2, alert: "Di Maria")
            try await world.update(score: 2) { $0.force = true }
            try await world.pass(10)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [2])
            #expect(pushes.map(\.alert) == ["Di Maria"])
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into = 4") == 2)
            #expect(
                try await world.events(.changesMerged).map(\.detail) == [["into": 4, "revisions": [2, 3], "count": 2]]
            )
        }
    }

    @Test("A ring of more than a batch is walked in slices, each token once")
    func manyBatches() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(RingWalk.batchSize + 100)
            try await world.update(score: 1)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.count == RingWalk.batchSize + 100)
            #expect(Set(pushes.map(\.destination)).count == pushes.count)
            let slices = Dictionary(grouping: pushes, by: \.call).mapValues(\.count)
            #expect(slices.values.max() == TokenPushes.sliceSize)
            #expect(try await world.show().progress.current == RingWalk.batchSize + 100)
        }
    }

    @Test("A sender may go on only while its lease holds and nothing newer was accepted")
    func mayGoOn() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 1).first)
            let first = try #require(try await world.snapshot(of: lease.activityKey))
            #expect(try await segments.mayGoOn(lease, with: first))
            try await world.update(score: 1)
            #expect(try await segments.mayGoOn(lease, with: first) == false)
            let second = try #require(try await world.snapshot(of: lease.activityKey))
            #expect(try await segments.mayGoOn(lease, with: second))
            try await world.expireLeases()
            #expect(try await segments.mayGoOn(lease, with: second), "nobody has taken it")
            try await world.expireLeases()
            #expect(try await world.sibling().orchestrator.deliveryStore.segments.claim(limit: 1).count == 1)
            await #expect(throws: LeaseLost.self) { try await segments.mayGoOn(lease, with: second) }
        }
    }

    @Test("Every must-deliver change gets a push of its own before later ones, and the walk goes on after the last")
    func barriers() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            try await world.update(score: 1, alert: "Messi", mustDeliver: true)
            try await world.update(score: 2)
            try await world.update(score: 3, alert: "Di Maria", mustDeliver: true)
            try await world.update(score: 4)
            try await world.pass(10)
            try await world.settle()
            for token in ["aa01", "aa02"] {
                let pushes = world.recorder.pushes(to: token)
                #expect(pushes.map(\.score) == [1, 3, 4])
                #expect(pushes.map(\.alert) == ["Messi", "Di Maria", nil])
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
            }
            _ = world.recorder.take()
            try await world.update(score: 5, mustDeliver: true)
            try await world.settle()
            try await world.update(score: 6)
            try await world.pass(10)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [5, 6])
        }
    }

    @Test("The end waits for no must-deliver change, and carries the newest alert")
    func endPassesBarriers() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1, alert: "Messi", mustDeliver: true)
            try await world.update(score: 2, alert: "Di Maria", mustDeliver: true)
            try await world.end()
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.map(\.score) == [2])
            #expect(pushes.map(\.alert) == ["Di Maria"])
            #expect(pushes.map(\.priority) == [.ten])
        }
    }

    @Test("The end does not wait either for a must-deliver change that the walk has begun and nobody was reached by")
    func endPassesBegunBarrier() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2)
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 1, mustDeliver: true)
            try await world.settle()
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end", "end"])
        }
    }

    @Test("At most eight must-deliver changes are open; when they have been sent there is room again")
    func barrierLimit() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            for score in 1...8 { try await world.update(score: Int64(score), mustDeliver: true) }
            let refused = try await problem { try await world.update(score: 9, mustDeliver: true) }
            #expect(refused?.code == "too_many_must_deliver")
            #expect(refused?.status == 429)
            #expect(try await world.show().revision == 9)
            for _ in 1...8 {
                try await world.pass(10)
                try await world.settle()
            }
            #expect(world.recorder.pushes(to: "aa01").compactMap(\.score) == Array(1...8))
            // Neither those that were sent nor what need not be delivered takes any.
            for score in 9...17 { try await world.update(score: Int64(score)) }
            #expect(try await world.update(score: 18, mustDeliver: true).revision == 19)
        }
    }

    @Test("When APNs is away the whole ring waits, and what is then sent is the newest state with the alert still owed")
    func outage() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...3 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(world.recorder.take().count == 3)
            #expect(try await world.number("SELECT failures FROM segments WHERE segment = 0") == 1)
            #expect(try await world.number("SELECT count(*) FROM subscriptions WHERE state = 'riding'") == 3)
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.number("SELECT failures FROM segments WHERE segment = 0") == 2)
            try await world.update(score: 2)
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.pass(5)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == ["aa01", "aa02", "aa03"])
            #expect(pushes.allSatisfy { $0.score == 2 && $0.alert == "Messi" })
            #expect(try await world.number("SELECT failures FROM segments WHERE segment = 0") == 0)
        }
    }

    @Test("Under one stamp a re-send has the same bytes; more than 30 s later the same revision takes a fresh stamp")
    func freshStamp() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            let accepted = try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            try await world.hurry()
            try await world.settle()
            let early = world.recorder.take()
            #expect(early.count == 4)
            #expect(Set(early.map(\.bytes)).count == 1)
            world.recorder.answerAll(with: nil)
            try await world.pass(40)
            try await world.settle()
            let late = world.recorder.take()
            #expect(late.count == 2)
            #expect(Set(late.map(\.timestamp)).count == 1)
            #expect(late.allSatisfy { $0.timestamp >= (accepted.timestamp ?? 0) + 30 })
            #expect(try await world.show().revision == 2)
        }
    }

    @Test("A repeat of an older revision with a fresh stamp makes the newer one take a fresh stamp, too")
    func freshStampOfOlder() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(3)
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 1, mustDeliver: true)
            try await world.settle()
            try await world.pass(40)
            // Stamped at accept, before the older one is stamped anew.
            try await world.update(score: 2)
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.pass(3)
            try await world.settle()
            try await world.pass(3)
            try await world.settle()
            let pushes = world.recorder.pushes(to: World.crowdToken(1))
            #expect(pushes.map(\.score) == [1, 2])
            #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        }
    }

    @Test("The end repeats the newest state where it brings none, and reaches who comes after it")
    func ending() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.update(score: 3)
            try await world.settle()
            _ = world.recorder.take()
            let ended = try await world.end()
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.event == "end")
            #expect(push.score == 3)
            #expect(push.timestamp == ended.timestamp)
            #expect(try await world.follow("d2", token: "aa02").activityState == .ended)
            try await world.settle()
            let late = world.recorder.take()
            #expect(late.map(\.destination) == ["aa02"])
            #expect(late.map(\.event) == ["end"])
            let shown = try await world.show()
            #expect(shown.state == .ended)
            #expect(shown.progress.current == 2)
        }
    }
}
