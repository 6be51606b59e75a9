import APITypes
import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Record
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator

@Suite("Channels that are made together", .timeLimit(.minutes(2)))
struct ChannelMakingTests {
    /// Starts activities `a1`, `a2`, … without an audience.
    private func matches(_ count: Int, in world: World) async throws {
        for number in 1...count { try await world.start("a\(number)", delivery: .channel) }
    }

    private func group(of world: World) async throws -> SegmentGroup {
        try await world.orchestrator.deliveryStore.segments.takeAnnouncements()
        return SegmentGroup(
            room: world.orchestrator.delivery,
            slot: nil,
            segments: try await world.orchestrator.deliveryStore.segments.claim(limit: 100).map {
                LeasedSegment(lease: $0)
            }
        )
    }

    /// The channels with the reasons why they are not made, in the order of the activities.
    private func channels(_ world: World) async throws -> [String] {
        try await world.database.query(
            "SELECT concat_ws(' ', state, reason) FROM channels ORDER BY activity_key"
        ).decoded(as: String.self)
    }

    @Test("Apple is asked for all at once; what it has made is stored together, and wakes nobody who has not waited")
    func together() async throws {
        try await withWorld { world in
            let count = 20
            try await matches(count, in: world)
            let group = try await group(of: world)
            let gate = world.recorder.close()
            async let served = group.run()
            await gate.arrivals(count)
            world.recorder.open()
            let outcome = await served
            #expect(!outcome.hadOther && !outcome.mayHaveMore)
            #expect(try await channels(world) == Array(repeating: "ready", count: count))
            let transactions = try await world.number("SELECT count(DISTINCT xmin::text) FROM channels") ?? 0
            #expect(transactions < Int64(count) / 2)
            let busy = "SELECT count(*) FROM segments WHERE due_at IS NOT NULL OR lease_owner IS NOT NULL"
            #expect(try await world.number(Query(unescaped: busy)) == 0)
            for number in 1...count { try await world.update("a\(number)", score: Int64(number)) }
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(Set(pushes.map(\.destination)).count == count)
            #expect(Set(pushes.compactMap(\.score)) == Set((1...count).map(Int64.init)))
        }
    }

    @Test("One that Apple refuses is told of and waits, and the others not")
    func refused() async throws {
        try await withWorld { world in
            try await matches(3, in: world)
            world.recorder.answerCreation(with: .failed(.tooMany))
            _ = await (try group(of: world)).run()
            #expect(try await channels(world).sorted() == ["creating 429 TooManyRequests", "ready", "ready"])
            #expect(try await world.events(.channelRefused).count == 1)
            let failed: Query = "SELECT count(*) FROM segments WHERE failures = 1 AND due_at IS NOT NULL"
            #expect(try await world.number(failed) == 1)
            try await world.hurry()
            try await world.settle()
            #expect(try await channels(world) == ["ready", "ready", "ready"])
            #expect(world.recorder.createdChannels == 3)
        }
    }

    @Test(
        "A change that came before the channel, or while Apple was asked, is broadcast on it",
        arguments: [false, true]
    )
    func changed(isBefore: Bool) async throws {
        try await withWorld { world in
            try await matches(1, in: world)
            if isBefore { try await world.update("a1", score: 1) }
            let group = try await group(of: world)
            let gate = world.recorder.close()
            async let served = group.run()
            await gate.arrivals()
            if !isBefore { try await world.update("a1", score: 1) }
            world.recorder.open()
            #expect(await served.mayHaveMore)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["channel1"])
        }
    }

    @Test("Starts that have waited for the channel leave when it is made")
    func starts() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", os: "18.0")
            try await world.start("a1", to: World.devices("d1"), delivery: .channel)
            let leases = try await world.orchestrator.deliveryStore.segments.claim(limit: 10)
            let ring = try #require(leases.first(where: { $0.isFirstRing }))
            await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: ring).run()
            #expect(world.recorder.take().isEmpty)
            let channel = try #require(leases.first(where: { $0.isChannel }))
            let segments = [LeasedSegment(lease: channel)]
            let group = SegmentGroup(room: world.orchestrator.delivery, slot: nil, segments: segments)
            #expect(await group.run().mayHaveMore)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
        }
    }

    @Test("What cannot be stored is given back to Apple, and made again later")
    func notStored() async throws {
        try await withWorld { world in
            try await matches(2, in: world)
            let isAway = Atomic(false)
            let gate = StatementGate { (_) async throws(PostgresError) in
                if isAway.load(ordering: .relaxed) { throw PostgresError(.poolExhausted) }
            }
            let group = try await group(of: world.sibling(behind: gate))
            let asked = world.recorder.close()
            async let served = group.run()
            await asked.arrivals(2)
            isAway.store(true, ordering: .relaxed)
            world.recorder.open()
            _ = await served
            #expect(world.recorder.deletedChannels.count == 2)
            #expect(world.recorder.channels.isEmpty)
            #expect(try await channels(world) == ["creating", "creating"])
            try await world.expireLeases()
            try await world.settle()
            #expect(try await channels(world) == ["ready", "ready"])
            #expect(world.recorder.channels.count == 2)
        }
    }

    @Test("A channel that Apple has made is stored when the daemon stops, too")
    func stopped() async throws {
        try await withWorld { world in
            try await matches(1, in: world)
            let group = try await group(of: world)
            let gate = world.recorder.close()
            let serving = Task { await group.run() }
            await gate.arrivals()
            serving.cancel()
            world.recorder.open()
            _ = await serving.value
            #expect(try await channels(world) == ["ready"])
            #expect(world.recorder.channels == ["channel1"])
        }
    }

    // MARK: From the accept of the start

    @Test("The channel of a start comes leased to the daemon that accepts it, as far as it has room; others are due")
    func leased() async throws {
        try await withWorld { world in
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 2)
            try await world.start("later", delivery: .channel) {
                $0.startsAt = Instant(microseconds: 4_000_000_000_000_000)
            }
            #expect(wakeUps.takeLeases(10).isEmpty)
            try await matches(3, in: world)
            let segments = wakeUps.takeLeases(10)
            #expect(segments.count { if case .channel = $0.look?.small { true } else { false } } == 2)
            #expect(try await world.orchestrator.deliveryStore.segments.claim(limit: 10).count == 1)
            _ = await SegmentGroup(room: world.orchestrator.delivery, slot: nil, segments: segments).run()
            #expect(try await channels(world) == ["creating", "ready", "ready", "creating"])
            // A daemon that dies with a lease loses nothing.
            wakeUps.open(room: 3)
            try await world.start("a4", delivery: .channel)
            #expect(wakeUps.takeLeases(10).count == 1)
            try await world.expireLeases()
            try await world.settle()
            #expect(try await channels(world) == ["creating", "ready", "ready", "ready", "ready"])
        }
    }

    @Test("What the accept of a start knows of its channel is used while it is fresh", arguments: [false, true])
    func seen(isFresh: Bool) async throws {
        try await withWorld { world in
            world.orchestrator.deliveryStore.wakeUps.open(room: 1)
            try await matches(1, in: world)
            let segment = try #require(world.orchestrator.deliveryStore.wakeUps.takeLeases(1).first)
            let age = isFresh ? Duration.seconds(-60) : .seconds(1)
            let look = LeasedSegment.Look(small: segment.look?.small, at: ContinuousClock.now - age)
            let looks = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .betweenTransactions { looks.withLock { $0 += 1 } }
            }
            let sibling = world.sibling(behind: gate).orchestrator
            _ = try await sibling.store.signing.identity(of: world.app, .production)
            looks.withLock { $0 = 0 }
            // A look of the sibling finds nothing to make: the lease is the other daemon's.
            let seen = LeasedSegment(lease: segment.lease, look: look)
            _ = await SegmentGroup(room: sibling.delivery, slot: nil, segments: [seen]).run()
            #expect((looks.withLock { $0 } == 0) == isFresh)
            #expect(try await channels(world) == [isFresh ? "ready" : "creating"])
        }
    }

    @Test("While sending is halted, no start brings a channel to be made")
    func halted() async throws {
        try await withWorld { world in
            try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 50, now() + interval '1 hour')
                """
            )
            world.orchestrator.deliveryStore.wakeUps.open(room: 2)
            try await matches(1, in: world)
            #expect(world.orchestrator.deliveryStore.wakeUps.takeLeases(10).isEmpty)
            try await world.database.execute("DELETE FROM sending_halts")
            try await world.settle()
            #expect(try await channels(world) == ["ready"])
        }
    }

    @Test("A worker that finds a channel to be made leaves it to a group")
    func leftToGroup() async throws {
        try await withWorld { world in
            try await matches(1, in: world)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            #expect(await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).run())
            #expect(world.recorder.createdChannels == 0)
            try await world.settle()
            #expect(world.recorder.createdChannels == 1)
        }
    }
}
