import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Synchronization
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Counts in answers that are kept for a key", .timeLimit(.minutes(2)))
struct CountedAnswerTests {
    private static let activity = ActivityID(stored: "final")

    private static func key(_ text: String = "1", hash: UInt8 = 1) -> IdempotencyKey {
        IdempotencyKey(
            apiKeyID: "k",
            app: BundleID(stored: "com.example.app"),
            method: "POST",
            path: "/audience",
            key: text,
            bodyHash: [hash]
        )
    }

    private func add(_ world: World, _ device: String, key: IdempotencyKey = key()) async throws -> AudienceCounts {
        try await world.orchestrator.intake.changeAudience(
            world.app,
            Self.activity,
            AudienceRequest(add: World.devices(device)),
            idempotency: key
        ).answer
    }

    /// A daemon that does nothing any more after its first commit.
    private func dying(_ world: World) -> World {
        let hasCommitted = Mutex(false)
        return world.sibling(
            behind: StatementGate { (moment) async throws(PostgresError) in
                if moment == .afterCommit { hasCommitted.withLock { $0 = true } }
                let isDead = moment != .afterCommit && hasCommitted.withLock { $0 }
                if isDead { throw PostgresError(.connectionLost) }
            }
        )
    }

    @Test("An audience is counted when its change is committed: nobody waits for the activity meanwhile")
    func afterCommit() async throws {
        try await withWorld { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)") }
            try await world.start()
            let moments = Mutex<[StatementGate.Moment]>([])
            let gate = StatementGate { (moment) async throws(PostgresError) in moments.withLock { $0.append(moment) } }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                let counts = try await add(other, "d1")
                #expect(counts.devices == 1)
            }
            let order = moments.withLock { $0 }
            let commit = try #require(order.firstIndex(of: .afterCommit))
            // The count, and the answer with it.
            #expect(order[(commit + 1)...].filter { $0 == .betweenTransactions }.count >= 2)
            #expect(!order[(commit + 1)...].contains(.inTransaction))
        }
    }

    @Test("The same request again is answered as before, however many there are by now")
    func replay() async throws {
        try await withWorld { world in
            for number in 1...2 { try await world.register("d\(number)", token: "5a0\(number)") }
            try await world.start()
            #expect(try await add(world, "d1").devices == 1)
            _ = try await add(world, "d2", key: Self.key("2"))
            #expect(try await add(world, "d1").devices == 1)
            let reused = try await problem { _ = try await add(world, "d1", key: Self.key(hash: 2)) }
            #expect(reused?.code == "idempotency_key_reused")
        }
    }

    @Test("A daemon that dies between its commit and the count leaves an answer that the next request completes")
    func crash() async throws {
        try await withWorld { world in
            for number in 1...2 { try await world.register("d\(number)", token: "5a0\(number)") }
            try await world.start()
            let dying = dying(world)
            try await dying.withIntake {
                await #expect(throws: PostgresError.self) { try await add(dying, "d1") }
            }
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 1)
            #expect(try await world.number("SELECT count(*) FROM idempotency_keys WHERE uncounted IS NOT NULL") == 1)
            _ = try await world.orchestrator.intake.changeAudience(
                world.app,
                Self.activity,
                AudienceRequest(add: World.devices("d2"))
            )
            #expect(try await add(world, "d1").devices == 2)
            #expect(try await world.number("SELECT count(*) FROM idempotency_keys WHERE uncounted IS NOT NULL") == 0)
            #expect(try await add(world, "d1").devices == 2)
        }
    }

    @Test("So does one that dies after a start")
    func start() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            let dying = dying(world)
            try await dying.withIntake {
                await #expect(throws: PostgresError.self) { try await startKeyed(dying) }
            }
            for _ in 1...2 {
                let again = try await startKeyed(world)
                #expect(again.answer.audience == AudienceCounts(devices: 1, unknownUsers: 0))
                #expect(!again.isReplay)
            }
        }
    }

    @Test("A start that reaches nobody is answered without a count, with a key and without", arguments: [false, true])
    func nobody(isKeyed: Bool) async throws {
        try await withWorld { world in
            let moments = Mutex<[StatementGate.Moment]>([])
            let gate = StatementGate { (moment) async throws(PostgresError) in moments.withLock { $0.append(moment) } }
            let key = isKeyed ? Self.key() : nil
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                let first = try await start(other, to: Audience(), key)
                #expect(first.answer.audience == AudienceCounts() && !first.isReplay)
                #expect(moments.withLock { $0.last } == .afterCommit)
                let again = try await start(world, to: Audience(), key)
                #expect(again.answer.activityID == first.answer.activityID)
                #expect(again.answer.audience == first.answer.audience)
                #expect(again.isReplay == !isKeyed)
            }
        }
    }

    private func startKeyed(_ world: World) async throws -> Replayable<StartAnswer> {
        try await start(world, to: World.devices("d1"), Self.key())
    }

    private func start(
        _ world: World,
        to audience: Audience,
        _ key: IdempotencyKey?
    ) async throws -> Replayable<StartAnswer> {
        let request = StartRequest(
            type: World.game,
            attributes: JSONObject([("home", .string("Argentina"))]),
            contentState: World.state(0),
            audience: audience,
            alert: World.alert("Kick-off")
        )
        let start = RequestedStart(
            app: world.app,
            id: Self.activity,
            request: request,
            idempotencyKey: key,
            origin: nil
        )
        return try #require(await world.orchestrator.intake.accept([start]).first).get()
    }
}
