import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Store
import Synchronization
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Intake
@testable import Orchestrator

@Suite("What accepted changes give to do", .timeLimit(.minutes(2)))
struct AcceptedWorkTests {
    private func ring(_ world: World) async throws -> String? {
        try await world.word(
            """
            SELECT concat_ws(' ', completed_revision, CASE WHEN due_at IS NOT NULL THEN 'due' END,
                             CASE WHEN lease_owner IS NOT NULL THEN 'leased' END)
            FROM segments WHERE segment = 0
            """
        )
    }

    @Test("A change that nobody follows is done with when it is accepted, whatever it is; its end is not")
    func empty() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.update(score: 1)
            try await world.update(score: 2, alert: "Messi", mustDeliver: true)
            for score in 3...20 { try await world.update(score: Int64(score), mustDeliver: true) }
            #expect(try await ring(world) == "21")
            #expect(try await world.orchestrator.deliveryStore.segments.claim(limit: 10).isEmpty)
            try await world.pass(60)  // so many stamps were taken in advance
            // Whoever comes now is sent the newest state, and none of the alerts of before.
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.score == 20 && push.alert == nil)
            try await world.end()
            #expect(try await ring(world) == "21 due")
        }
    }

    @Test("Where somebody has a row of his own, or is about to be started, the ring is woken")
    func followed() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.update(score: 1)
            #expect(try await ring(world) == "1 due")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            try await world.update(score: 2)
            #expect(try await ring(world) == "2 due")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test("A phone that comes on the ring between the look and the commit gets the change", arguments: [false, true])
    func race(isServed: Bool) async throws {
        try await withWorld { world in
            try await world.start()
            // What its version of the app can decode is known, so that a report need not wait for the change.
            try await world.follow("d0", token: "aa00", known: 1)
            try await world.report("d0", .ended)
            try await world.settle()
            // The other daemon's intake halts when all is decided and nothing is written.
            let meanwhile = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .beforeCommit { await meanwhile.pass() }
            }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                async let accepted = other.update(score: 1)
                await meanwhile.arrivals(1)
                try await world.follow("d1", token: "aa01", known: 1)
                if isServed {
                    try await world.settle()
                    #expect(try await world.subscription("d1") == "riding")
                }
                meanwhile.open()
                #expect(try await accepted.revision == 2)
            }
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            #expect(try await world.show().progress.current == 1)
        }
    }

    @Test("A phone that comes on a ring with others after the look is sent the change, too")
    func lateRider() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d0", token: "aa00", known: 1)
            try await world.settle()
            _ = world.recorder.take()
            let meanwhile = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .beforeCommit { await meanwhile.pass() }
            }
            let other = world.sibling(behind: gate)
            let wakeUps = other.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 1)
            try await other.withIntake {
                async let accepted = other.update(score: 1)
                await meanwhile.arrivals(1)
                try await world.follow("d1", token: "aa01", known: 1)
                meanwhile.open()
                #expect(try await accepted.revision == 2)
            }
            let segments = wakeUps.takeLeases(10)
            #expect(segments.count == 1)
            #expect(segments.first?.look == nil)
            _ = await SegmentGroup(room: other.orchestrator.delivery, slot: nil, segments: segments).run()
            try await world.settle()
            let pushes = other.recorder.take() + world.recorder.take()
            #expect(Set(pushes.map(\.destination)) == ["aa00", "aa01"])
        }
    }

    @Test("Where a start waits for its time, the accept does not know all that is to be sent")
    func startToCome() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 1)
            try await world.database.execute(
                """
                INSERT INTO starts (activity_key, device_key, state, due_at)
                SELECT activity_key, device_key, 'pending', now() + interval '1 hour' FROM subscriptions
                """
            )
            try await world.update(score: 1)
            let look = try #require(wakeUps.takeLeases(10).first?.look)
            #expect(look.small == nil)
        }
    }

    @Test("A ring at rest comes leased to the daemon that accepts, as far as it has room; others are due")
    func leased() async throws {
        try await withWorld { world in
            for number in 1...3 {
                try await world.start("a\(number)")
                try await world.follow("d\(number)", token: "aa0\(number)", in: "a\(number)", known: 1)
            }
            try await world.settle()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 2)
            for number in 1...3 { try await world.update("a\(number)", score: 1) }
            let leases = wakeUps.takeLeases(10)
            #expect(leases.count == 2)
            #expect(try await world.orchestrator.deliveryStore.segments.claim(limit: 10).count == 1)
            _ = await SegmentGroup(room: world.orchestrator.delivery, slot: nil, segments: leases).run()
            #expect(world.recorder.take().map(\.destination).sorted() == ["aa01", "aa02"])

            try await world.pass(10)  // stamps are not far ahead of the clock then
            // What comes while a ring is leased is its worker's; and a daemon that dies with a lease loses nothing.
            try await world.update("a1", score: 2)
            #expect(wakeUps.takeLeases(10).count == 1)
            try await world.update("a1", score: 3)
            #expect(wakeUps.takeLeases(10).isEmpty)
            try await world.expireLeases()
            try await world.settle()
            let scores = world.recorder.take().map { "\($0.destination) \($0.score ?? 0)" }
            #expect(scores.sorted() == ["aa01 3", "aa03 1"])
        }
    }

    @Test(
        "What was seen of a small ring when it was leased is acted upon while it is fresh, and looked at again after that"
    )
    func seen() async throws {
        try await withWorld { world in
            try await world.start("a1")
            try await world.follow("d1", token: "aa01", in: "a1", known: 1)
            try await world.start("a2")
            try await world.follow("d2", token: "aa02", in: "a2", known: 1)
            try await world.settle()
            _ = world.recorder.take()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 2)
            try await world.update("a1", score: 1)
            try await world.update("a2", score: 1, alert: "Goal")
            let segments = wakeUps.takeLeases(10)
            let look = try #require(segments.first?.look)
            #expect(look.small?.update?.audience.riders?.count == 1)
            // More than a small ring's work: that was seen, too.
            let other = try #require(segments.last?.look)
            #expect(other.small == nil)
            #expect(segments[0].freshLook(at: look.at + .milliseconds(99)) != nil)
            #expect(segments[0].freshLook(at: look.at + .milliseconds(100)) == nil)

            try await world.update("a1", score: 2)
            let late = LeasedSegment(
                lease: segments[0].lease,
                look: LeasedSegment.Look(small: look.small, at: .now - .seconds(1))
            )
            _ = await SegmentGroup(room: world.orchestrator.delivery, slot: nil, segments: [late]).run()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test("A channel comes leased, with what is to be sent, where it alone has work")
    func leasedChannel() async throws {
        try await withWorld { world in
            try await world.start("a1", delivery: .channel)
            try await world.start("a2", delivery: .channel)
            try await world.settle()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 2)
            try await world.update("a1", score: 1)
            try await world.update("a2", score: 2, alert: "Goal")
            let segments = wakeUps.takeLeases(10)
            #expect(segments.map(\.lease.isChannel) == [true, true])
            let looks = segments.compactMap(\.look)
            #expect(looks.map { $0.small?.update?.change.revision } == [2, nil])
            // Beside a channel, the first ring cannot tell what was sent.
            #expect(try await world.number("SELECT count(*) FROM changes WHERE sent_with_ring") == 0)
            #expect(try await world.orchestrator.deliveryStore.segments.claim(limit: 10).isEmpty)
            _ = await SegmentGroup(room: world.orchestrator.delivery, slot: nil, segments: segments).run()
            #expect(world.recorder.take().compactMap(\.score).sorted() == [1, 2])
            #expect(try await world.number("SELECT count(*) FROM segments WHERE due_at IS NOT NULL") == 0)
        }
    }

    @Test("An end passes no ring, though nobody rides")
    func endOfEmpty() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            #expect(try await ring(world) == "1")
            try await world.end()
            #expect(try await ring(world) == "1 due")
        }
    }

    @Test("Where a ring and a channel have work none is leased by the accept, nor one that waits for its time")
    func notLeased() async throws {
        try await withWorld { world in
            try await world.start("by-both", delivery: .hybrid)
            try await world.follow("d1", token: "aa01", in: "by-both", known: 1)
            try await world.start("failing")
            try await world.follow("d2", token: "aa02", in: "failing", known: 1)
            try await world.settle()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 10)
            try await world.update("by-both", score: 1)
            #expect(wakeUps.takeLeases(10).isEmpty)
            world.recorder.answerAll(with: .unavailable)
            try await world.update("failing", score: 1)
            _ = await SegmentGroup(room: world.orchestrator.delivery, slot: nil, segments: wakeUps.takeLeases(10)).run()
            try await world.update("failing", score: 2)
            #expect(wakeUps.takeLeases(10).isEmpty)
        }
    }

    @Test("An empty ring takes the place of none that is to be served")
    func emptyBesideOthers() async throws {
        try await withWorld { world in
            try await world.start("a1")
            try await world.start("a2")
            try await world.follow("d2", token: "aa02", in: "a2", known: 1)
            try await world.settle()
            world.orchestrator.deliveryStore.wakeUps.open(room: 1)
            let batch = ["a1", "a2"].map { id in
                let update = UpdateRequest(contentState: World.state(1))
                return KeyedOperation(BatchOperation(.update(ActivityID(stored: id), update)), idempotency: nil)
            }
            #expect(await world.orchestrator.intake.batch(world.app, batch, origin: nil).count == 2)
            #expect(world.orchestrator.deliveryStore.wakeUps.takeLeases(10).count == 1)
        }
    }

    @Test("Without a dispatcher nothing is leased, and what a stopped one has not taken is given back")
    func closed() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 2)
            try await world.update(score: 1)
            let left = wakeUps.close()
            #expect(left.count == 1)
            try await world.orchestrator.deliveryStore.segments.release(left.map(\.lease))
            try await world.update(score: 2)
            #expect(wakeUps.takeLeases(10).isEmpty)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }
}
