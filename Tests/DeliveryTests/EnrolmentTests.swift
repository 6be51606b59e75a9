import APITypes
import APNSTransport
import ActivityModel
import Intake
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Audiences become starts a stretch at a time", .timeLimit(.minutes(2)))
struct EnrolmentTests {
    private static let final = ActivityID(stored: "final")
    /// Two members, or two devices. No turn is over because time passes.
    private static let stretches = OrchestratorSettings {
        $0.lease = .seconds(600)
        $0.stretchSize = 2
        $0.uptime = { .zero }
    }

    private func register(_ numbers: ClosedRange<Int>, in world: World) async throws {
        for number in numbers { try await world.register("d\(number)", token: "5a0\(number)") }
    }

    /// Works on the starts until nothing is due, and says where each went to that has left since the last call.
    private func sent(in world: World) async throws -> [String] {
        try await world.settle()
        return world.recorder.take().filter { $0.event == "start" }.map(\.destination).sorted()
    }

    @Test("A device that is deleted while it is enrolled gets no start, and that is no error")
    func deletedDevice() async throws {
        try await withWorld { world in
            try await register(1...2, in: world)
            try await world.start(to: Audience(allOfType: true))
            let keys = try await world.database.query("SELECT device_key FROM devices ORDER BY device_key")
                .decoded(as: Int64.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("DELETE FROM devices WHERE device_id = 'd1'")
                    group.addTask { try await world.orchestrator.deliveryStore.enrol(deviceKeys: keys) }
                    try await world.someoneWaits()
                }
                try await group.waitForAll()
            }
            #expect(try await sent(in: world) == ["5a02"])
        }
    }

    @Test(
        "The first of a large audience are started while the last are still to be made starts",
        arguments: [false, true]
    )
    func firstStretch(isToAll: Bool) async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...5, in: world)
            let named = Audience(devices: (1...5).map { DeviceID(stored: "d\($0)") })
            try await world.start(to: isToAll ? Audience(allOfType: true) : named)
            // Somebody holds a device of the second stretch.
            let held = Gate()
            async let holder: Void = world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM devices WHERE device_id = 'd3' FOR UPDATE")
                await held.pass()
            }
            await held.arrivals()
            async let sent = sent(in: world)
            await world.recorder.wait { $0.count == 2 }
            #expect(try await world.number("SELECT count(*) FROM starts") == 2)
            #expect(try await world.show().starts.enrolling)
            #expect(try await world.explain().verdict.text.contains("phones that Tally still adds"))
            held.open()
            #expect(try await sent == ["5a01", "5a02", "5a03", "5a04", "5a05"])
            try await holder
            #expect(try await !world.show().starts.enrolling)
            #expect(try await !world.explain().verdict.text.contains("still adds"))
        }
    }

    @Test(
        "The rest of a large audience is enrolled while the first starts wait for their answers",
        arguments: [false, true]
    )
    func besideTheFirst(isToAll: Bool) async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...5, in: world)
            let named = Audience(devices: (1...5).map { DeviceID(stored: "d\($0)") })
            try await world.start(to: isToAll ? Audience(allOfType: true) : named)
            let gate = world.recorder.close()
            async let sent = sent(in: world)
            await gate.arrivals()
            try await eventually("all are enrolled") { try await !world.show().starts.enrolling }
            #expect(try await world.number("SELECT count(*) FROM starts") == 5)
            #expect(try await world.show().starts.sent == 0)
            world.recorder.open()
            #expect(try await sent == ["5a01", "5a02", "5a03", "5a04", "5a05"])
        }
    }

    @Test("A large audience is enrolled to its end though nothing can leave without the channel")
    func withoutChannel() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...5, in: world)
            world.recorder.answerCreation(with: .failed(.unavailable))
            try await world.start(to: Audience(allOfType: true), delivery: .channel)
            #expect(try await sent(in: world) == [])
            #expect(try await !world.show().starts.enrolling)
            #expect(try await world.number("SELECT count(*) FROM starts") == 5)
            try await world.pass(31)
            #expect(try await sent(in: world) == ["5a01", "5a02", "5a03", "5a04", "5a05"])
        }
    }

    @Test("An end stops the enrolment of a large audience, and nobody is started any more")
    func end() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...5, in: world)
            try await world.start(to: Audience(allOfType: true))
            let held = Gate()
            async let holder: Void = world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM devices WHERE device_id = 'd3' FOR UPDATE")
                await held.pass()
            }
            await held.arrivals()
            async let sent = sent(in: world)
            await world.recorder.wait { $0.count == 2 }
            // The second stretch has begun before the end, and is committed after it.
            try await world.someoneWaits()
            try await world.end()
            held.open()
            #expect(try await sent == ["5a01", "5a02"])
            try await holder
            #expect(try await world.number("SELECT count(*) FROM starts WHERE due_at IS NOT NULL") == 0)
        }
    }

    @Test(
        "While a stretch becomes starts an update is accepted, and whoever is added to the audience is started, too",
        arguments: [false, true]
    )
    func changes(isToAll: Bool) async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...4, in: world)
            try await world.start(to: World.devices("d2"))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            let meanwhile = Gate()
            let other = world.sibling(
                behind: StatementGate { (moment) async throws(PostgresError) in
                    if moment == .beforeCommit { await meanwhile.pass() }
                }
            )
            async let isMore = other.enrolStretch(under: lease)
            await meanwhile.arrivals()
            #expect(try await world.update(score: 1).revision == 2)
            let added = isToAll ? Audience(allOfType: true) : World.devices("d4")
            _ = try await world.orchestrator.intake.changeAudience(world.app, Self.final, AudienceRequest(add: added))
            meanwhile.open()
            #expect(try await isMore)
            try await world.orchestrator.deliveryStore.segments.release(lease)
            #expect(try await sent(in: world) == (isToAll ? ["5a01", "5a02", "5a03", "5a04"] : ["5a02", "5a04"]))
        }
    }

    @Test("All that are added once more begin anew, also those that were removed in a stretch that is done")
    func addedAgain() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...3, in: world)
            try await world.start(to: Audience(allOfType: true))
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            #expect(try await world.enrolStretch(under: lease))
            let all = Audience(allOfType: true)
            _ = try await world.orchestrator.intake.changeAudience(world.app, Self.final, AudienceRequest(remove: all))
            try await world.orchestrator.deliveryStore.segments.release(lease)
            #expect(try await sent(in: world) == [])
            #expect(try await world.number("SELECT count(*) FROM starts WHERE state = 'cancelled'") == 2)
            _ = try await world.orchestrator.intake.changeAudience(world.app, Self.final, AudienceRequest(add: all))
            #expect(try await sent(in: world) == ["5a01", "5a02", "5a03"])
        }
    }

    @Test("A daemon that dies at a stretch, before its COMMIT or after it, loses nobody and starts nobody twice")
    func crash() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...7, in: world)
            try await world.start(to: Audience(allOfType: true))
            for moment in [StatementGate.Moment.inTransaction, .beforeCommit, .afterCommit] {
                let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
                let other = world.sibling(
                    behind: StatementGate { (passed) async throws(PostgresError) in
                        if passed == moment { throw PostgresError(.connectionLost) }
                    }
                )
                await #expect(throws: PostgresError.self) { try await other.enrolStretch(under: lease) }
                try await world.expireLeases()
            }
            #expect(try await sent(in: world) == (1...7).map { "5a0\($0)" })
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test("A daemon that has lost its lease does not say how far an audience has become starts")
    func lostLease() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...3, in: world)
            try await world.start(to: Audience(allOfType: true))
            let segments = world.orchestrator.deliveryStore.segments
            let lost = try #require(try await segments.claim(limit: 1).first)
            try await world.expireLeases()
            let lease = try #require(try await segments.claim(limit: 1).first)
            await #expect(throws: LeaseLost.self) { try await world.enrolStretch(under: lost) }
            #expect(try await world.snapshot(of: lost.activityKey)?.enrolment == AudienceStretch.Cursor())
            try await segments.release(lease)
            #expect(try await sent(in: world) == ["5a01", "5a02", "5a03"])
        }
    }

    @Test("Between two stretches, who registers is started once, who is deleted or removed not at all")
    func betweenStretches() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...4, in: world)
            let members = Audience(users: [UserID(stored: "u5")], devices: (1...4).map { DeviceID(stored: "d\($0)") })
            try await world.start(to: members)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            #expect(try await world.enrolStretch(under: lease))
            try await world.register("d5", token: "5a05", user: "u5")
            try await world.register("d2", token: "5b02")
            try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: "d1"))
            let removed = AudienceRequest(remove: World.devices("d3"))
            _ = try await world.orchestrator.intake.changeAudience(world.app, Self.final, removed)
            try await world.orchestrator.deliveryStore.segments.release(lease)
            #expect(try await sent(in: world) == ["5a04", "5a05", "5b02"])
        }
    }

    @Test("Stretches hold only devices of the app and its environment, though others are between and behind them")
    func otherDevices() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await register(1...9, in: world)
            _ = try await world.database.pipeline([
                "UPDATE devices SET environment = 'sandbox' WHERE substr(device_id, 2)::int % 3 = 0",
                "INSERT INTO apps (bundle_id, team_id) VALUES ('com.example.zoo', 'ABCDE12345')",
                "UPDATE devices SET bundle_id = 'com.example.zoo' WHERE substr(device_id, 2)::int % 3 = 1",
            ])
            let (answer, _) = try await world.start(to: Audience(allOfType: true))
            #expect(answer.audience.devices == 3)
            #expect(try await sent(in: world) == ["5a02", "5a05", "5a08"])
        }
    }

    @Test("A device that the audience names is not started while it is in the other environment")
    func otherEnvironment() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", on: .sandbox)
            try await world.register("d2", token: "5a02", user: "u2", on: .sandbox)
            var audience = World.devices("d1")
            audience.users = [UserID(stored: "u2")]
            try await world.start(to: audience)
            #expect(try await sent(in: world) == [])
            #expect(try await world.number("SELECT count(*) FROM starts") == 0)
        }
    }

    @Test("An audience is counted stretch by stretch, and each device once", arguments: [1, 2, 100])
    func counting(stretchSize: Int) async throws {
        try await withWorld { world in
            try await register(1...4, in: world)
            try await world.register("d5", user: "u1")
            try await world.register("d6", user: "u1")
            try await world.register("d4", user: "u1")
            func count(_ id: String, _ audience: Audience) async throws -> AudienceCounts {
                try await world.start(id, to: audience)
                let key = try #require(
                    await world.number("SELECT activity_key FROM activities WHERE activity_id = \(id)")
                )
                return try await AudienceCount.of(key, stretchSize: stretchSize, in: world.database)
            }
            var audience = World.devices("d1", "d5", "nobody")
            audience.users = ["u1", "u2", "u3"].map(UserID.init(stored:))
            #expect(
                try await count("named", audience) == AudienceCounts(devices: 4, unknownUsers: 2, unknownDevices: 1)
            )
            audience.allOfType = true
            #expect(try await count("all", audience) == AudienceCounts(devices: 6, unknownUsers: 2, unknownDevices: 1))
        }
    }
}
