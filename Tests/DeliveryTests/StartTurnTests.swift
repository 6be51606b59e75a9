import APITypes
import ActivityModel
import Intake
import OrchestratorTestSupport
import Postgres
import Synchronization
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("A turn of starts, batch after batch", .timeLimit(.minutes(2)))
struct StartTurnTests {
    /// As many starts as may be on their way at the same time.
    private static let window = StartTurn.batchesAtOnce * StartClaims.batchSize
    /// No turn and no lease is over because time passes.
    private static let endless = OrchestratorSettings {
        $0.lease = .seconds(600)
        $0.uptime = { .zero }
    }

    /// Starts an activity for a crowd. When as many starts as possible are on their way, `meanwhile` comes. Then APNs
    /// answers.
    ///
    /// - Returns: The pushes that have left.
    private func started(
        _ count: Int,
        by audience: Audience = Audience(allOfType: true),
        in world: World,
        meanwhile: () async throws -> Void
    ) async throws -> [Recorder.Push] {
        try await world.registerCrowd(count)
        try await world.start(to: audience)
        let gate = world.recorder.close()
        async let walk: Void = world.settle()
        await gate.arrivals(StartTurn.batchesAtOnce)
        try await meanwhile()
        world.recorder.open()
        try await walk
        return world.recorder.take()
    }

    @Test("More starts than a batch each leave once")
    func manyBatches() async throws {
        try await withWorld { world in
            try await world.registerCrowd(550)
            try await world.start(to: Audience(allOfType: true))
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.count == 550)
            #expect(Set(pushes.map(\.destination)).count == 550)
            #expect(Set(pushes.map(\.bytes)).count == 1)
            #expect(try await world.show().starts.sent == 550)
        }
    }

    @Test("When a batch is settled the next one leaves, though another still waits for its answer")
    func window() async throws {
        try await withWorld(settings: Self.endless) { world in
            let count = Self.window + 3 * StartClaims.batchSize
            try await world.registerCrowd(count)
            try await world.start(to: Audience(allOfType: true))
            let first = try #require(
                await world.word("SELECT encode(token, 'hex') FROM start_tokens ORDER BY device_key LIMIT 1")
            )
            let gate = world.recorder.close(for: first)
            async let walk: Void = world.settle()
            await world.recorder.wait { $0.count == count }
            #expect(try await world.startState("crowd1") == "claimed")
            gate.open()
            try await walk
            #expect(Set(world.recorder.take().map(\.destination)).count == count)
            #expect(try await world.show().starts.sent == count)
        }
    }

    @Test("A daemon that dies in the middle leaves at most a thousand starts in doubt; only these are repeated")
    func crash() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }, settings: Self.endless) { world in
            let count = Self.window + 400
            try await world.registerCrowd(count)
            try await world.start(to: Audience(allOfType: true))
            let isDead = Atomic(false)
            var settings = Self.endless
            settings.pause = { _ in throw CancellationError() }
            let daemon = world.sibling(
                settings: settings,
                behind: StatementGate { (_) async throws(PostgresError) in
                    if isDead.load(ordering: .relaxed) { throw PostgresError(.connectionLost) }
                }
            )
            let gate = world.recorder.close()
            let work = Task { try? await daemon.settle() }
            await gate.arrivals(StartTurn.batchesAtOnce)
            // Another batch would be claimed meanwhile.
            for _ in 1...50 { _ = try await world.number("SELECT count(*) FROM starts") }
            isDead.store(true, ordering: .relaxed)
            world.recorder.open()
            await work.value
            #expect(Self.window <= 1_000)
            let inDoubt = try await world.number("SELECT count(*) FROM starts WHERE state = 'claimed'")
            #expect(inDoubt == Int64(Self.window))
            try await world.expireLeases()
            try await world.settle()
            #expect(world.recorder.take().count == count)
            try await world.pass(101)
            try await world.settle()
            #expect(world.recorder.take().count == Self.window)
            #expect(try await world.show().starts.repeated == Self.window)
        }
    }

    @Test("An end between two batches lets no more leave")
    func end() async throws {
        try await withWorld(settings: Self.endless) { world in
            let pushes = try await started(Self.window + 150, in: world) { _ = try await world.end() }
            #expect(pushes.count == Self.window)
            #expect(try await world.show().starts.sent == Self.window)
            #expect(try await world.number("SELECT count(*) FROM starts WHERE state = 'cancelled'") == 150)
        }
    }

    @Test("A start that waits for an end which is being accepted does not leave")
    func behindAnEnd() async throws {
        try await withWorld { world in
            // From the first start on it is known that the app decodes the state.
            try await world.register("d1", token: "5a01")
            try await world.start(to: Audience(allOfType: true))
            try await world.settle()
            try await world.register("d2", token: "5a02")
            try await world.settle(behind: { _ = try await world.end() })
            #expect(world.recorder.pushes(to: "5a02").isEmpty)
            #expect(try await world.startState("d2") == "cancelled")
        }
    }

    @Test("What comes between two batches is what the next starts bring")
    func update() async throws {
        try await withWorld(settings: Self.endless) { world in
            let pushes = try await started(Self.window + 150, in: world) { _ = try await world.update(score: 1) }
            #expect(pushes.prefix(Self.window).allSatisfy { $0.score == 0 })
            #expect(pushes.dropFirst(Self.window).map(\.score) == Array(repeating: 1, count: 150))
            #expect(Set(pushes.map(\.destination)).count == Self.window + 150)
        }
    }

    @Test("A batch that is claimed more than 30 seconds after the stamp carries a fresh one")
    func stamp() async throws {
        try await withWorld(settings: Self.endless) { world in
            let pushes = try await started(Self.window + 150, in: world) {
                let age: Query = "UPDATE changes SET stamped_at = stamped_at - interval '31 seconds'"
                _ = try await world.database.execute(age)
            }
            let first = try #require(pushes.first).timestamp
            #expect(pushes.prefix(Self.window).allSatisfy { $0.timestamp == first })
            #expect(pushes.dropFirst(Self.window).allSatisfy { $0.timestamp > first })
            #expect(pushes.count == Self.window + 150)
        }
    }

    @Test("A daemon that loses its lease between two batches claims no more, and settles what has left")
    func lostLease() async throws {
        try await withWorld(settings: Self.endless) { world in
            var lease: SegmentLease?
            let pushes = try await started(Self.window + 150, in: world) {
                try await world.expireLeases()
                lease = try await world.sibling().orchestrator.deliveryStore.segments.claim(limit: 1).first
            }
            #expect(pushes.count == Self.window)
            #expect(try await world.show().starts.sent == Self.window)
            try await world.orchestrator.deliveryStore.segments.release(try #require(lease))
            try await world.settle()
            #expect(world.recorder.take().count == 150)
            #expect(try await world.show().starts.sent == Self.window + 150)
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test("A device that is deleted or taken out of the audience after its enrolment gets no start")
    func removed() async throws {
        try await withWorld(settings: Self.endless) { world in
            let count = Self.window + 3
            let named = Audience(devices: (1...count).map { DeviceID(stored: "crowd\($0)") })
            let (gone, removed) = ("crowd\(count)", "crowd\(count - 1)")
            let pushes = try await started(count, by: named, in: world) {
                try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: gone))
                let request = AudienceRequest(remove: World.devices(removed))
                _ = try await world.orchestrator.intake.changeAudience(world.app, ActivityID(stored: "final"), request)
            }
            #expect(pushes.count == Self.window + 1)
            #expect(try await world.show().starts.sent == Self.window + 1)
            #expect(try await world.startState(removed) == "cancelled")
        }
    }

    @Test("A start that may be repeated at once is not repeated while its push is on its way")
    func repeatedAtOnce() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 0 }, settings: Self.endless) { world in
            let count = StartClaims.batchSize + 50
            try await world.registerCrowd(count)
            try await world.start(to: Audience(allOfType: true))
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals(2)
            world.recorder.open()
            try await walk
            #expect(world.recorder.take().count == count)
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test("When its time is over a turn claims no more, and a card that waits gets its turn")
    func time() async throws {
        let uptime = Atomic(0)
        let step = Atomic(0)
        var settings = OrchestratorSettings()
        settings.uptime = {
            .seconds(uptime.add(step.load(ordering: .relaxed), ordering: .relaxed).newValue)
        }
        try await withWorld(settings: settings) { world in
            let count = 2 * StartClaims.batchSize + 50
            try await world.registerCrowd(count)
            try await world.start(to: Audience(allOfType: true))
            try await world.update(score: 1)
            try await world.follow("d1", token: "aa01", known: 1)
            step.store(1, ordering: .relaxed)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.firstIndex { $0.destination == "aa01" } == StartClaims.batchSize)
            #expect(pushes.filter { $0.event == "start" }.count == count)
        }
    }
}
