import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Testing

@testable import Cards
@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Several rings of one activity", .timeLimit(.minutes(3)))
struct DivisionTests {
    /// Rings of more than ten are divided, half of them are left to other daemons for long, and leases outlast the
    /// test.
    private static let smallRings = OrchestratorSettings {
        $0.lease = .seconds(600)
        $0.pollInterval = .seconds(600)
        $0.ringSize = 10
    }

    private func withSmallRings(_ body: (World) async throws -> Void) async throws {
        try await withWorld(settings: Self.smallRings, body)
    }

    /// An activity with forty riders in four rings, which have all been sent score 1.
    private func divide(_ world: World) async throws {
        try await world.start()
        try await world.crowd(40)
        try await world.update(score: 1)
        try await world.settle()
        #expect(try await world.rings() == 4)
        _ = world.recorder.take()
    }

    private static let everybody = Set((1...40).map(World.crowdToken))

    @Test("A ring that holds too much is divided on its first pass, which reaches everybody once")
    func division() async throws {
        try await withSmallRings { world in
            try await world.start()
            try await world.crowd(40)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == Self.everybody.sorted())
            #expect(try await world.rings() == 4)
            let held = try await world.word(
                """
                SELECT string_agg(c.count::text, ' ' ORDER BY g.after_key) FROM segments AS g CROSS JOIN LATERAL (
                    SELECT count(*) FROM subscriptions AS s
                    WHERE s.activity_key = g.activity_key AND s.device_key > g.after_key AND s.device_key <= g.through_key
                ) AS c
                """
            )
            #expect(held == "10 10 10 10")
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == Self.everybody.sorted())
            let progress = try await world.show().progress
            #expect(progress.destinations == 40)
            #expect(progress.current == 40)
        }
    }

    @Test("A ring finds its due card behind many of other rings that were due before, and looks again if it has none")
    func dueBehindOthers() async throws {
        try await withSmallRings { world in
            try await world.start()
            try await world.crowd(160)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.rings() == 4)
            let last = "(SELECT after_key FROM segments WHERE segment >= 0 ORDER BY after_key DESC LIMIT 1)"
            try await world.database.execute(
                """
                UPDATE subscriptions SET state = 'due', due_at = now() - interval '1 hour' WHERE device_key <= \(unescaped: last)
                """
            )
            let asked: Query = """
                SELECT \(unescaped: DueCards.exist), \(unescaped: DueCards.next) - now() < interval '5 seconds'
                FROM segments AS s WHERE s.after_key = \(unescaped: last) AND s.segment >= 0
                """
            func ask() async throws -> (isDue: Bool, isSoon: Bool?) {
                let row = try #require(try await world.database.query(asked).first(as: (Bool, Bool?).self))
                return (row.0, row.1)
            }
            #expect(try await ask() == (false, true))
            for (time, isDue) in [("1 hour", false), ("-1 minute", true)] {
                try await world.database.execute(
                    """
                    UPDATE subscriptions SET state = 'due', due_at = now() + \(unescaped: "interval '\(time)'")
                    WHERE device_key > \(unescaped: last)
                    """
                )
                #expect(try await ask() == (isDue, true), "\(time)")
            }
            try await world.database.execute("UPDATE subscriptions SET state = 'riding', due_at = NULL")
            #expect(try await ask() == (false, nil))
        }
    }

    @Test("A small activity keeps its one ring")
    func small() async throws {
        try await withSmallRings { world in
            try await world.start()
            try await world.crowd(10)
            for score in 1...5 {
                try await world.update(score: Int64(score), alert: "Goal")
                try await world.pass(5)
                try await world.settle()
            }
            #expect(world.recorder.take().count == 50)
            #expect(try await world.rings() == 1)
        }
    }

    @Test(
        "Division in the middle of a lap repeats nothing, forgets nothing, and keeps the alert for who has not heard it"
    )
    func divisionInLap() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.lease = .seconds(600) }) { world in
            try await world.start()
            try await world.crowd(40)
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            // The walk with the alert has passed the first 25, and goes on with a newer state.
            let passed = try await world.number("SELECT device_key FROM devices WHERE device_id = 'crowd25'") ?? 0
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            var carousel = Carousel(cursor: 0, completed: 1)
            carousel.turn(to: 2, alert: 2)
            carousel.acknowledge(through: passed, reachedBound: false)
            try await world.orchestrator.deliveryStore.segments.acknowledge(lease, carousel, with: [])
            let few = world.sibling(settings: Self.smallRings)
            try await RingDivision(
                room: few.orchestrator.delivery,
                lease: lease,
                range: world.orchestrator.deliveryStore.segments.renew(lease).range
            ).run()
            try await world.orchestrator.deliveryStore.segments.release(lease)
            #expect(try await world.rings() == 4)
            #expect(try await world.show().progress.current == 25)
            try await world.update(score: 2)
            try await world.pass(10)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == Self.everybody.sorted())
            #expect(pushes.allSatisfy { $0.score == 2 })
            let told = Set(pushes.filter { $0.alert == "Messi" }.map(\.destination))
            #expect(told == Set((26...40).map(World.crowdToken)))
        }
    }

    @Test("A ring is not divided while a change is being accepted, which wakes only the rings that it sees")
    func lock() async throws {
        try await withSmallRings { world in
            try await world.start()
            try await world.crowd(40)
            try await world.settle()
            let segments = world.orchestrator.deliveryStore.segments
            try await world.database.execute("UPDATE segments SET due_at = now()")
            let lease = try #require(try await segments.claim(limit: 1).first)
            let range = try await segments.renew(lease).range
            let division = try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM activities FOR NO KEY UPDATE")
                let division = Task {
                    try await RingDivision(room: world.orchestrator.delivery, lease: lease, range: range).run()
                }
                try await world.someoneWaits(unless: { try await world.rings() != 1 })
                #expect(try await world.rings() == 1)
                return division
            }
            try await division.value
            #expect(try await world.rings() == 4)
        }
    }

    /// What a daemon takes, until there is nothing more for it.
    private func take(_ world: World) async throws -> [SegmentLease] {
        var held: [SegmentLease] = []
        while case let more = try await world.orchestrator.deliveryStore.segments.claim(limit: 1), !more.isEmpty {
            held += more
        }
        return held
    }

    @Test("Two daemons carry one activity at once, and each sends its share")
    func sharing() async throws {
        try await withSmallRings { world in
            try await divide(world)
            let other = world.sibling()
            try await world.update(score: 2)
            let mine = try await take(world)
            #expect(mine.count == 2)
            let theirs = try await take(other)
            #expect(theirs.count == 2)
            let gate = world.recorder.close()
            try await withThrowingTaskGroup { group in
                for (daemon, leases) in [(world, mine), (other, theirs)] {
                    for lease in leases {
                        group.addTask {
                            try await SegmentWorker(room: daemon.orchestrator.delivery, slot: nil, lease: lease).work()
                        }
                    }
                }
                // All four are on their way at the same time.
                await gate.arrivals(4)
                world.recorder.open()
                try await group.waitForAll()
            }
            #expect(world.recorder.take().map(\.destination).sorted() == Self.everybody.sorted())
            #expect(try await world.show().progress.current == 40)
        }
    }

    @Test("Where a daemon dies the other goes on with its own share, and takes over the rest after the lease")
    func death() async throws {
        try await withSmallRings { world in
            try await divide(world)
            let other = world.sibling()
            try await world.update(score: 2)
            #expect(try await take(world).count == 2)
            try await other.settle()
            #expect(world.recorder.pushes.count == 20)
            try await world.expireLeases()
            try await other.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == Self.everybody.sorted())
        }
    }

    @Test("Rings that no other daemon takes are not left lying")
    func alone() async throws {
        try await withSmallRings { world in
            try await divide(world)
            try await world.update(score: 2)
            #expect(try await take(world).count == 2)
            try await world.database.execute("UPDATE segments SET due_at = due_at - interval '1 hour'")
            #expect(try await take(world).count == 2)
        }
    }

    @Test("A registration wakes its own ring alone, and is served by that")
    func registration() async throws {
        try await withSmallRings { world in
            try await divide(world)
            try await world.follow("crowd35", token: "bb35", known: 1)
            try await world.orchestrator.deliveryStore.segments.takeAnnouncements()
            #expect(try await world.number("SELECT count(*) FROM segments WHERE due_at IS NOT NULL") == 1)
            // Another ring that has work at the same moment leaves it alone.
            try await world.database.execute("UPDATE segments SET due_at = now() WHERE segment = 0")
            for lease in try await world.orchestrator.deliveryStore.segments.claim(limit: 1, takesFurtherRing: false) {
                try await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).work()
            }
            #expect(world.recorder.take().isEmpty)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb35"])
            try await world.follow("new", token: "bb41")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb41"])
            #expect(try await world.show().progress.current == 41)
        }
    }

    @Test("Rings on different changes do not take each other's stamps away, and no destination's time goes back")
    func stamps() async throws {
        try await withSmallRings { world in
            try await divide(world)
            try await world.update(score: 2, mustDeliver: true)
            try await world.update(score: 3)
            let changes = world.orchestrator.deliveryStore.changes
            let leases = try await take(world)
            let (first, second) = (try #require(leases.first), try #require(leases.last))
            try await world.pass(40)
            let older = try #require(try await changes.stamped(3, under: first))
            let newer = try #require(try await changes.stamped(4, under: second))
            #expect(older.timestamp < newer.timestamp)
            // The older one keeps its stamp, although the newer one has got a fresh one above it.
            for _ in 1...3 {
                #expect(try await changes.stamped(3, under: first)?.timestamp == older.timestamp)
                #expect(try await changes.stamped(4, under: second)?.timestamp == newer.timestamp)
            }
            // A later stamp of the older one takes the newer one's away.
            try await world.database.execute(
                "UPDATE changes SET stamped_at = stamped_at - interval '1 minute' WHERE revision = 3"
            )
            let again = try #require(try await changes.stamped(3, under: first))
            #expect(again.timestamp > newer.timestamp)
            try await world.pass(10)
            let last = try #require(try await changes.stamped(4, under: second))
            #expect(last.timestamp > again.timestamp - 10)
        }
    }

    @Test("Each ring brings every must-deliver change to its destinations before what is newer, and the end at last")
    func barriers() async throws {
        try await withSmallRings { world in
            try await divide(world)
            try await world.update(score: 2, alert: "Messi", mustDeliver: true)
            try await world.update(score: 3)
            try await world.pass(3)
            try await world.settle()
            try await world.update(score: 4, mustDeliver: true)
            try await world.end()
            try await world.pass(3)
            try await world.settle()
            for token in Self.everybody {
                let pushes = world.recorder.pushes(to: token)
                #expect(pushes.map(\.score) == [2, 3, 4])
                #expect(pushes.map(\.alert) == ["Messi", nil, nil])
                #expect(pushes.map(\.event) == ["update", "update", "end"])
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
            }
        }
    }

    @Test("What one ring still owes stands against the next change, whichever it is", arguments: ["min", "max"])
    func openBarriers(behind: String) async throws {
        try await withSmallRings { world in
            try await divide(world)
            for score in 2...9 { try await world.update(score: Int64(score), mustDeliver: true) }
            try await world.database.execute(
                """
                UPDATE segments SET completed_revision = (SELECT revision FROM activities)
                WHERE segment <> (SELECT \(unescaped: behind)(segment) FROM segments)
                """
            )
            let refused = try await problem { try await world.update(score: 10, mustDeliver: true) }
            #expect(refused?.code == "too_many_must_deliver")
            try await world.database.execute(
                "UPDATE segments SET completed_revision = (SELECT revision FROM activities)"
            )
            try await world.update(score: 10, mustDeliver: true)
        }
    }

    @Test("A change is merged when the last ring has jumped over it, unless one has sent it")
    func merges() async throws {
        try await withSmallRings { world in
            try await divide(world)
            let merged = "SELECT string_agg(revision || ' into ' || merged_into, ', ' ORDER BY revision) FROM changes"
            let first = world.orchestrator.deliveryStore.segments
            try await world.update(score: 2)
            for lease in try await first.claim(limit: 1, takesFurtherRing: false) {
                try await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).work()
            }
            try await world.update(score: 3)
            try await world.update(score: 4)
            try await world.pass(10)
            for lease in try await first.claim(limit: 1, takesFurtherRing: false) {
                try await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).work()
            }
            // The other rings may still come to it.
            #expect(try await world.word(Query(unescaped: merged)) == nil)
            try await world.settle()
            #expect(try await world.word(Query(unescaped: merged)) == "4 into 5")
            #expect(
                try await world.events(.changesMerged).map(\.detail) == [["into": 5, "revisions": [4], "count": 1]]
            )
        }
    }

    @Test("Rings that decide at the same moment decide once for each class, and spend no more than there is")
    func budget() async throws {
        let policy: (inout Policy) -> Void = {
            $0.budget.ordinary = 2
            $0.budget.reserve = 1
        }
        try await withWorld(policy: policy, settings: Self.smallRings) { world in
            try await world.start()
            try await world.crowd(1)
            try await world.settle()
            for score in 1...4 {
                try await world.update(score: Int64(score)) { $0.urgency = .critical }
                try await world.pass(5)
            }
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            let activity = try #require(try await world.snapshot(of: key))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            try await withThrowingTaskGroup { group in
                for revision in Int64(2)...5 {
                    let change = try #require(
                        try await world.orchestrator.deliveryStore.changes.stamped(revision, under: lease)
                    )
                    for _ in 1...4 {
                        group.addTask {
                            _ = try await world.orchestrator.deliveryStore.ledger
                                .priority(of: change, PriorityCase(.ordinary, alert: nil), in: activity)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM budget_ledger WHERE priority = 10") == 1)
            #expect(try await world.events(.demoted).count == 3)
        }
    }
}

extension World {
    fileprivate func rings() async throws -> Int64? {
        try await number("SELECT count(*) FROM segments WHERE segment >= 0")
    }
}
