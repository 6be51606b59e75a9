import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Synchronization
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Leases of segments", .timeLimit(.minutes(2)))
struct LeaseTests {
    @Test("Two daemons share the segments of a database, and no push leaves twice")
    func sharing() async throws {
        try await withWorld { world in
            let other = world.sibling()
            for number in 1...6 {
                try await world.start("game\(number)")
                for phone in 1...5 {
                    try await world.follow("d\(phone)", token: "aa\(number)\(phone)", in: "game\(number)", known: 1)
                }
            }
            try await world.settle()
            for number in 1...6 { try await world.update("game\(number)", score: 1) }
            async let one: Void = world.settle()
            async let two: Void = other.settle()
            _ = try await (one, two)
            try await world.settle()
            let tokens = world.recorder.take().map(\.destination)
            #expect(tokens.count == 30)
            #expect(Set(tokens).count == 30)
        }
    }

    @Test("What left under a lease that has run out is stored as long as nobody has taken it, and does not leave again")
    func runOut() async throws {
        // So long that nothing prolongs it meanwhile.
        try await withWorld(settings: OrchestratorSettings { $0.lease = .seconds(600) }) { world in
            try await world.start()
            // One slice: before another the worker would look at its lease.
            try await world.crowd(100)
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            let gate = world.recorder.close()
            let paused = Task { try await world.settle() }
            await gate.arrivals()
            try await world.expireLeases()
            world.recorder.open()
            try await paused.value
            try await world.pass(5)
            try await world.sibling().settle()
            for number in 1...100 {
                #expect(world.recorder.pushes(to: World.crowdToken(number)).compactMap(\.alert) == ["Messi"])
            }
        }
    }

    @Test("A daemon that was paused past its lease stores nothing and stamps nothing")
    func lost() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2)
            try await world.settle()
            try await world.update(score: 1)
            let gate = world.recorder.close()
            let paused = Task { try await world.settle() }
            await gate.arrivals()
            try await world.expireLeases()
            let other = world.sibling()
            let taken = Task { try await other.settle() }
            await gate.arrivals(2)
            try await world.update(score: 2)
            world.recorder.open()
            try await paused.value
            try await taken.value
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.show().progress.current == 2)
            for number in 1...2 {
                let scores = world.recorder.pushes(to: World.crowdToken(number)).compactMap(\.score)
                #expect(scores.last == 2)
                #expect(scores == scores.sorted())
            }
        }
    }

    @Test("A stamp is given only under a lease that holds")
    func stamps() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.exhaustStamps()
            #expect(try await world.update(score: 1).timestamp == nil)
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 1).first)
            await #expect(throws: StampTooEarly.self) {
                try await world.orchestrator.deliveryStore.changes.stamped(2, under: lease)
            }
            try await world.pass(5)
            try await world.expireLeases()
            await #expect(throws: LeaseLost.self) {
                try await world.orchestrator.deliveryStore.changes.stamped(2, under: lease)
            }
            #expect(try await world.number("SELECT count(*) FROM changes WHERE timestamp IS NULL") == 1)
        }
    }

    @Test("Work that comes while a worker finds nothing keeps it from resting")
    func wakes() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 1).first)
            let seen = try await segments.renew(lease).wakes
            try await world.update(score: 1)
            #expect(try await segments.rest(lease, wakesSeen: seen) == false)
            #expect(try await segments.pause(lease, wakesSeen: seen, for: .seconds(1)) == false)
            let before = try await segments.renew(lease).wakes
            try await world.database.execute(SegmentRows.announce(activityKeys: [lease.activityKey]))
            try await segments.takeAnnouncements()
            #expect(try await segments.rest(lease, wakesSeen: before) == false)
            #expect(try await segments.rest(lease, wakesSeen: segments.renew(lease).wakes))
            await #expect(throws: LeaseLost.self) { try await segments.renew(lease) }
        }
    }

    @Test("A lease that has run out is prolonged as long as nobody has taken it")
    func prolonging() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 5).first)
            try await world.expireLeases()
            try await segments.renew(lease)
            #expect(try await world.sibling().orchestrator.deliveryStore.segments.claim(limit: 5).isEmpty)
            try await world.expireLeases()
            #expect(try await world.sibling().orchestrator.deliveryStore.segments.claim(limit: 5).count == 1)
            await #expect(throws: LeaseLost.self) { try await segments.renew(lease) }
        }
    }

    @Test("More pushes leave only under a lease that holds while they do")
    func sending() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 5).first)
            let activity = try #require(try await world.snapshot(of: lease.activityKey))
            try await world.expireLeases()
            #expect(try await segments.mayGoOn(lease, with: activity))
            #expect(try await world.sibling().orchestrator.deliveryStore.segments.claim(limit: 5).isEmpty)
        }
    }

    @Test("A lease that has run out is not prolonged while another takes it")
    func race() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 5).first)
            try await world.expireLeases()
            let renewal = try await world.database.withTransaction { connection in
                _ = try await connection.execute("UPDATE segments SET lease_owner = gen_random_uuid()")
                let renewal = Task { _ = try await segments.renew(lease) }
                try await world.someoneWaits()
                return renewal
            }
            await #expect(throws: LeaseLost.self) { try await renewal.value }
        }
    }

    @Test("A newer change stops what goes on with an older one; of that which begins, only an end does")
    func newer() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 5).first)
            let activity = try #require(try await world.snapshot(of: lease.activityKey))
            #expect(try await segments.mayGoOn(lease, with: activity))
            try await world.update(score: 1)
            #expect(try await !segments.mayGoOn(lease, with: activity))
            #expect(try await segments.mayGoOn(lease, with: activity, isFirst: true))
            try await world.end()
            #expect(try await !segments.mayGoOn(lease, with: activity, isFirst: true))
        }
    }

    @Test("A database that does not answer for a while takes no lease from who has work under way")
    func unreachableDatabase() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 5).first)
            let (signs, sign) = AsyncStream.makeStream(of: Bool.self)
            let tries = Atomic(0)
            let gate = StatementGate { (_) async throws(PostgresError) in
                let isAnswered = tries.add(1, ordering: .relaxed).newValue > 3
                sign.yield(isAnswered)
                if !isAnswered { throw PostgresError(.connectionLost) }
            }
            var settings = world.orchestrator.settings
            settings.lease = .milliseconds(150)
            let daemon = world.sibling(settings: settings, behind: gate).orchestrator
            let worker = SegmentWorker(room: daemon.delivery, slot: nil, lease: lease)
            let seen = try await worker.whileKeepingLease {
                // What is under way is not broken off: it waits until the lease was prolonged again.
                for await isAnswered in signs where isAnswered { return true }
                return false
            }
            #expect(seen)
        }
    }

    @Test("A segment whose work failed while the database was away is due soon after the database is back")
    func backFromOutage() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 5).first)
            let isAway = Atomic(true)
            let gate = StatementGate { (_) async throws(PostgresError) in
                if isAway.load(ordering: .relaxed) { throw PostgresError(.connectionLost) }
            }
            var settings = world.orchestrator.settings
            settings.uptime = { .zero }
            let pauses = Atomic(0)
            settings.pause = { _ in
                if pauses.add(1, ordering: .relaxed).newValue == 3 { isAway.store(false, ordering: .relaxed) }
            }
            let daemon = world.sibling(settings: settings, behind: gate).orchestrator
            await SegmentWorker(room: daemon.delivery, slot: nil, lease: lease).run()
            #expect(pauses.load(ordering: .relaxed) == 3)
            let waits: Query =
                "SELECT count(*) FROM segments WHERE failures = 1 AND lease_owner IS NULL AND due_at IS NOT NULL"
            #expect(try await world.number(waits) == 1)
        }
    }

    @Test(
        "While the database stays away a failed segment is given up with its lease, and when the daemon stops, at once"
    )
    func outageWithoutEnd() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 5).first)
            let gate = StatementGate { (_) async throws(PostgresError) in throw PostgresError(.connectionLost) }
            for mayPause in [true, false] {
                let clock = Mutex((uptime: Duration.zero, pauses: 0))
                var settings = world.orchestrator.settings
                settings.lease = .seconds(3)
                settings.uptime = { clock.withLock(\.uptime) }
                settings.pause = { time in
                    clock.withLock { $0 = ($0.uptime + time, $0.pauses + 1) }
                    if !mayPause { throw CancellationError() }
                }
                let daemon = world.sibling(settings: settings, behind: gate).orchestrator
                await SegmentWorker(room: daemon.delivery, slot: nil, lease: lease).run()
                #expect(clock.withLock(\.pauses) == (mayPause ? 11 : 1))
            }
        }
    }

    @Test("A clock that was set back makes no lease last longer: others take over, and who still works keeps it")
    func clockSetBack() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let lease = try #require(try await segments.claim(limit: 5).first)
            let setBack: Query = "UPDATE segments SET lease_until = lease_until + interval '1 hour'"
            try await world.database.execute(setBack)
            try await segments.renew(lease)
            #expect(try await segments.claim(limit: 5).isEmpty)
            try await world.database.execute(setBack)
            let other = try #require(try await segments.claim(limit: 5).first)
            #expect(other.owner != lease.owner)
            await #expect(throws: LeaseLost.self) { try await segments.renew(lease) }
        }
    }

    @Test("A lease that ran out is taken by another, one that holds is not")
    func claiming() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            let segments = world.orchestrator.deliveryStore.segments
            let first = try #require(try await segments.claim(limit: 5).first)
            #expect(try await segments.claim(limit: 5).isEmpty)
            try await world.expireLeases()
            let second = try #require(try await segments.claim(limit: 5).first)
            #expect(second.owner != first.owner)
            await #expect(throws: LeaseLost.self) {
                try await segments.acknowledge(first, Carousel(cursor: 7), with: ["UPDATE activities SET stamp = 1"])
            }
            for alertStamp in [nil, Timestamp(1)] {
                await #expect(throws: LeaseLost.self) {
                    try await segments.store(["UPDATE activities SET stamp = 1"], alertStamp: alertStamp, under: first)
                }
            }
            #expect(try await world.number("SELECT cursor FROM segments") == 0)
            #expect(try await world.number("SELECT stamp FROM activities") != 1)
            try await segments.release(second)
            #expect(try await segments.claim(limit: 5).count == 1)
        }
    }
}
