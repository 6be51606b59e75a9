import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator

@Suite("Audiences as standing rules", .timeLimit(.minutes(2)))
struct AudienceTests {
    private func change(_ world: World, add: Audience? = nil, remove: Audience? = nil) async throws -> AudienceCounts {
        try await world.orchestrator.intake.changeAudience(
            world.app,
            ActivityID(stored: "final"),
            AudienceRequest(add: add, remove: remove)
        ).answer
    }

    @Test("A start that has not left yet does not leave once its device is removed, and does when it is added again")
    func removal() async throws {
        try await withWorld { world in
            for number in 1...2 {
                try await world.register("d\(number)", token: "5a0\(number)")
                world.recorder.answer("5a0\(number)", with: .tooMany)
            }
            try await world.start(to: World.devices("d1", "d2"))
            try await world.settle()
            #expect(world.recorder.take().count == 2)
            #expect(try await change(world, remove: World.devices("d1")).devices == 1)
            try await world.settle()
            #expect(try await world.startState("d1") == "cancelled")
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a02"])
            _ = try await change(world, add: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.show().starts.repeated == 0)
        }
    }

    @Test(
        "A start that may have left is not repeated once its device is removed; added again, it is repeated on record"
    )
    func removalOfUnknown() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .noAnswer)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            _ = try await change(world, remove: World.devices("d1"))
            try await world.pass(101)
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            #expect(try await world.startState("d1") == "unknown")
            _ = try await change(world, add: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            #expect(try await world.startState("d1") == "sent")
            #expect(try await world.show().starts.repeated == 1)
        }
    }

    @Test(
        "A start that may have left gives its phone the time to report it, though its device is removed and added again",
        arguments: [false, true]
    )
    func removalAndAddition(isGivenUp: Bool) async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .noAnswer)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            _ = world.recorder.take()
            _ = try await change(world, remove: World.devices("d1"))
            if isGivenUp {
                // As another daemon would, had the start become due meanwhile.
                try await world.tables.giveUpStarts()
            }
            try await world.pass(2)
            _ = try await change(world, add: World.devices("d1"))
            try await world.settle()
            if isGivenUp {
                try await world.register("d1", token: "5a01")
                try await world.settle()
            }
            #expect(world.recorder.take().isEmpty)
            try await world.pass(99)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.show().starts.repeated == 1)
        }
    }

    @Test("An activity that apps started gets an audience with an alert; who is started later hears the last one given")
    func alerts() async throws {
        try await withWorld { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)") }
            func add(_ device: String, _ title: String?) async throws {
                let alert = title.map { AlertContent(title: .plain($0), body: .plain("B")) }
                let request = AudienceRequest(add: World.devices(device), alert: alert)
                _ = try await world.orchestrator.intake.changeAudience(world.app, ActivityID(stored: "final"), request)
                try await world.settle()
            }
            try await world.start(to: Audience(), alert: nil)
            await #expect(throws: Problem.alertRequired()) { try await add("d1", nil) }
            try await add("d1", "First")
            try await add("d2", nil)
            try await add("d3", "Third")
            #expect(
                world.recorder.take().map { "\($0.destination) \($0.alert ?? "-")" } == [
                    "5a01 First", "5a02 First", "5a03 Third",
                ]
            )
            // Changes that come later must leave room for it.
            await #expect(throws: Problem.self) { try await add("d1", String(repeating: "x", count: 4_000)) }
        }
    }

    @Test("Without another alert those who are added later hear that of the policy")
    func policyAlert() async throws {
        try await withWorld(policy: { $0.startAlert = AlertContent(title: .plain("Policy"), body: .plain("B")) }) {
            world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: Audience(), alert: nil)
            _ = try await change(world, add: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.take().map(\.alert) == ["Policy"])
        }
    }

    @Test("An audience is counted when its start is committed; nobody waits for the type meanwhile")
    func counting() async throws {
        try await withWorld { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)") }
            let moments = Mutex<[StatementGate.Moment]>([])
            let gate = StatementGate { (moment) async throws(PostgresError) in moments.withLock { $0.append(moment) } }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                for isReplay in [false, true] {
                    moments.withLock { $0 = [] }
                    let (answer, replay) = try await other.start(to: Audience(allOfType: true))
                    #expect(answer.audience == AudienceCounts(devices: 3, unknownUsers: 0))
                    #expect(replay == isReplay)
                    #expect(moments.withLock { $0.suffix(2) } == [.afterCommit, .betweenTransactions])
                }
            }
        }
    }

    @Test("An erased user is named by no start, however many activities are read at once", arguments: 1...6)
    func erasureOfStarts(atOnce: Int) async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = atOnce }) { world in
            try await world.register("d1", token: "5a01", user: "u1")
            for number in 1...5 {
                let isNamed = number.isMultiple(of: 2)
                try await world.start("a\(number)", to: Audience(users: [UserID(stored: isNamed ? "u1" : "u2")]))
            }
            // Only the kept starts tell of the user now.
            _ = try await world.database.execute("DELETE FROM audience_members")
            try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1"))
            #expect(try await world.number("SELECT count(*) FROM activities WHERE start_body::text LIKE '%u1%'") == 0)
            #expect(try await world.number("SELECT count(*) FROM activities WHERE start_body::text LIKE '%u2%'") == 3)
        }
    }

    @Test("While an erasure waits for one activity, changes of another one that named the user are accepted")
    func erasureBesideChanges() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 1 }) { world in
            for number in 1...2 {
                try await world.start("a\(number)", to: Audience(users: [UserID(stored: "u1")]))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM activities WHERE activity_id = 'a2' FOR UPDATE")
                    group.addTask { try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1")) }
                    try await world.someoneWaits()
                    // It has rewritten the start of this one.
                    try await world.update("a1", score: 1)
                }
                try await group.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM activities WHERE start_body::text LIKE '%u1%'") == 0)
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 0)
        }
    }

    @Test("An erased user is not named by a start that was accepted meanwhile, though its audience is gone again")
    func erasureOfPassingStart() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 1 }) { world in
            let users = Audience(users: [UserID(stored: "u1")])
            for number in 1...2 { try await world.start("a\(number)", to: users) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM activities WHERE activity_id = 'a2' FOR UPDATE")
                    group.addTask { try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1")) }
                    try await world.someoneWaits()
                    // It has read all activities before the second.
                    try await world.start("a0", to: users)
                    _ = try await world.orchestrator.intake.changeAudience(
                        world.app,
                        ActivityID(stored: "a0"),
                        AudienceRequest(remove: users)
                    )
                }
                try await group.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM activities WHERE start_body::text LIKE '%u1%'") == 0)
        }
    }

    @Test("An erased user is not named by a start that was accepted while the audiences were read")
    func erasureOfLastStart() async throws {
        try await withWorld { world in
            let users = Audience(users: [UserID(stored: "u1")])
            // Only its audience names the user. So only the last transaction of the erasure locks it.
            try await world.start(to: Audience(users: [UserID(stored: "u2")]))
            _ = try await change(world, add: users)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM activities WHERE activity_id = 'final' FOR UPDATE")
                    group.addTask { try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1")) }
                    try await world.someoneWaits()
                    try await world.start("late", to: users)
                }
                try await group.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM activities WHERE start_body::text LIKE '%u1%'") == 0)
            #expect(try await world.number("SELECT count(*) FROM audience_members WHERE member_id = 'u1'") == 0)
        }
    }

    @Test("An erasure also finds the device that the user gets meanwhile")
    func erasureOfNewDevice() async throws {
        try await withWorld { world in
            for number in 1...2 { try await world.start("a\(number)", to: World.devices("d\(number)")) }
            try await world.register("d1", token: "5a01", user: "u1")
            _ = try await world.database.execute("DELETE FROM audience_members")
            let gate = Gate()
            let eraser = world.sibling(
                behind: StatementGate { (moment) async throws(PostgresError) in
                    // It has rewritten what names the first device.
                    if moment == .afterCommit { await gate.pass() }
                }
            )
            async let erasure: Void = eraser.orchestrator.eraseUser(world.app, UserID(stored: "u1"))
            await gate.arrivals()
            try await world.register("d2", token: "5a02", user: "u1")
            gate.open()
            try await erasure
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
            #expect(try await world.number("SELECT count(*) FROM activities WHERE start_body::text ~ 'd1|d2'") == 0)
        }
    }

    @Test("The erasure of a user waits for a change of an audience that names the user, and neither fails")
    func erasureBesideAChange() async throws {
        try await withWorld { world in
            let users = Audience(users: [UserID(stored: "u1")])
            try await world.register("d1", token: "5a01", user: "u1")
            try await world.start(to: users)
            let meanwhile = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                // It has locked the activity, and nothing else yet.
                if moment == .inTransaction { await meanwhile.pass() }
            }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try await change(other, remove: users) }
                    await meanwhile.arrivals(1)
                    group.addTask { try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1")) }
                    try await world.someoneWaits()
                    meanwhile.open()
                    try await group.waitForAll()
                }
            }
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 0)
        }
    }

    @Test("The erasure of a user waits for a report of the user's first card by an unknown app, and neither fails")
    func erasureBesideAReport() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", user: "u1")
            try await world.start(to: Audience(users: [UserID(stored: "u1")]))
            let token = try #require(PushToken(hex: "aa01"))
            let meanwhile = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                // It has locked the device, and the activity not yet.
                if moment == .inTransaction { await meanwhile.pass() }
            }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        _ = try await other.orchestrator.intake.subscribe(
                            world.app,
                            ActivityID(stored: "final"),
                            DeviceID(stored: "d1"),
                            SubscriptionRequest(.updateToken(token), appVersion: AppVersion("9.9"))
                        )
                    }
                    await meanwhile.arrivals(1)
                    group.addTask { try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1")) }
                    try await world.someoneWaits()
                    meanwhile.open()
                    try await group.waitForAll()
                }
            }
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
        }
    }

    @Test("Who is covered by another part of the audience stays in it")
    func covered() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", user: "u1")
            world.recorder.answer("5a01", with: .tooMany)
            var audience = World.devices("d1")
            audience.users = [UserID(stored: "u1")]
            try await world.start(to: audience)
            try await world.settle()
            _ = try await change(world, remove: World.devices("d1"))
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().count == 2)
        }
    }

    @Test("Whoever was removed from an audience of all is not started by a later registration")
    func removalOfAll() async throws {
        try await withWorld { world in
            try await world.start(to: Audience(allOfType: true))
            _ = try await change(world, remove: Audience(allOfType: true))
            try await world.register("d1", token: "5a01")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A start for a user does not leave for a device that has another user meanwhile")
    func userChange() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", user: "u1")
            world.recorder.answer("5a01", with: .tooMany)
            try await world.start(to: Audience(users: [UserID(stored: "u1")]))
            try await world.settle()
            try await world.register("d1", user: "u2")
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            #expect(try await world.startState("d1") == "cancelled")
        }
    }

    @Test("A device that left by itself is not started again by its next registration")
    func left() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            _ = try await change(world, add: Audience(allOfType: true))
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "d1")
            )
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            try await world.register("d1", token: "5b01")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("The audience of an activity that is over is forgotten, however long it was")
    func purge() async throws {
        try await withWorld { world in
            let devices = (1...5_000).map { DeviceID(stored: "far\($0)") }
            let (answer, _) = try await world.start(to: Audience(devices: devices))
            #expect(answer.audience.devices == 0)
            try await world.start("other", to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 5_001)
            try await world.end()
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 1)
        }
    }

    @Test("No transaction writes more of a long list than a part; a request that broke off is completed by its repeat")
    func parts() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 2 }) { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d0", "d6"))
            let request = AudienceRequest(
                add: World.devices("d1", "d2", "d3", "d4", "d5", "d6"),
                remove: World.devices("d0", "d6", "d7"),
                alert: AlertContent(title: .plain("Added"), body: .plain("B"))
            )
            let key = IdempotencyKey(
                apiKeyID: "k",
                app: world.app,
                method: "POST",
                path: "/audience",
                key: "a",
                bodyHash: [1]
            )
            let commits = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .afterCommit else { return }
                let count = commits.withLock { count in
                    count += 1
                    return count
                }
                guard count == 2 else { return }
                throw PostgresError(.connectionLost)
            }
            func change(_ world: World) async throws -> AudienceCounts {
                let id = ActivityID(stored: "final")
                return try await world.orchestrator.intake.changeAudience(world.app, id, request, idempotency: key)
                    .answer
            }
            let dying = world.sibling(behind: gate)
            try await dying.withIntake {
                await #expect(throws: PostgresError.self) { _ = try await change(dying) }
            }
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 6)
            #expect(try await change(world) == AudienceCounts(devices: 1, unknownUsers: 0, unknownDevices: 5))
            #expect(
                try await world.word("SELECT string_agg(member_id, ' ' ORDER BY member_id) FROM audience_members")
                    == "d1 d2 d3 d4 d5 d6"
            )
            #expect(
                try await world.number(
                    "SELECT max(n) FROM (SELECT count(*) AS n FROM audience_members GROUP BY xmin::text) AS w"
                ) == 2
            )
            try await world.settle()
            #expect(world.recorder.take().map { "\($0.destination) \($0.alert ?? "-")" } == ["5a01 Added"])
        }
    }

    @Test("A long list of which nobody can be started changes nothing")
    func refusedParts() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 2 }) { world in
            try await world.start(to: Audience(), alert: nil)
            let request = AudienceRequest(add: World.devices("d1", "d2", "d3"), remove: World.devices("d4", "d5", "d6"))
            await #expect(throws: Problem.alertRequired()) {
                _ = try await world.orchestrator.intake.changeAudience(world.app, ActivityID(stored: "final"), request)
            }
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 0)
        }
    }

    @Test("An audience of nobody is accepted and says 0; users whom nobody knows are reported, not refused")
    func nobody() async throws {
        try await withWorld { world in
            #expect(
                try await world.start("empty", alert: nil).answer.audience
                    == AudienceCounts(devices: 0, unknownUsers: 0)
            )
            let strangers = Audience(users: ["u1", "u2"].map(UserID.init(stored:)), devices: [DeviceID(stored: "d1")])
            let none = AudienceCounts(devices: 0, unknownUsers: 2, unknownDevices: 1)
            #expect(try await world.start(to: strangers).answer.audience == none)
            #expect(try await change(world, add: strangers) == none)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("No start is claimed after an end was committed, though the worker has looked before")
    func claimAfterEnd() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            try await world.enrol(key)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            let claims = try await world.startClaims(under: lease)
            try await world.end()
            #expect(try await claims.claim(behind: .beginning, before: nil, isFirst: true) == nil)
            #expect(try await world.startState("d1") == "pending")
            try await world.orchestrator.deliveryStore.segments.release(lease)
            try await world.settle()
            #expect(try await world.startState("d1") == "cancelled")
        }
    }

    @Test("An activity that is updated without a pause starts its audience all the same")
    func claimBehindUpdates() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            try await world.enrol(key)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            var claimed = 0
            // An app version that is met for the first time is judged for the newest state, and started at the next
            // look.
            for score in 1...2 as ClosedRange<Int64> {
                let claims = try await world.startClaims(under: lease)
                try await world.update(score: score)
                let batch = try await claims.claim(behind: .beginning, before: nil, isFirst: true)
                claimed += batch?.starts.count ?? 0
            }
            #expect(claimed == 1)
        }
    }
}
