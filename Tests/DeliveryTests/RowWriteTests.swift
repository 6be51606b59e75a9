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

@Suite("What a change costs the database", .timeLimit(.minutes(3)))
struct RowWriteTests {
    /// Rows that were written so far, in all tables or in one.
    private func written(_ world: World, to table: String? = nil) async throws -> Int64 {
        try await publishStatistics(world)
        return try await world.number(
            """
            SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::int8 FROM pg_stat_user_tables
            WHERE \(table)::text IS NULL OR relname = \(table)
            """
        ) ?? 0
    }

    /// Lets every connection of the pool tell what it has counted, which it does at the end of a later statement.
    private func publishStatistics(_ world: World) async throws {
        let count = Database.Configuration().maximumConnections
        let gate = Gate()
        try await withThrowingTaskGroup { group in
            for _ in 1...count {
                group.addTask {
                    try await world.database.withConnection { connection in
                        // Nobody gives a connection back before all have one, so these are all there are.
                        await gate.pass()
                        _ = try await connection.query("SELECT pg_stat_force_next_flush()")
                        _ = try await connection.query("SELECT pg_stat_clear_snapshot()")
                    }
                }
            }
            await gate.arrivals(count)
            gate.open()
            try await group.waitForAll()
        }
    }

    @Test(
        "One change to many destinations costs a push each and a few row writes per batch, whoever rides",
        arguments: [5_000, 20_000]
    )
    func oneChange(destinations: Int) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(destinations)
            try await world.settle()
            _ = world.recorder.take()
            let before = (try await written(world), try await written(world, to: "subscriptions"))
            try await world.update(score: 1)
            try await world.settle()
            let after = (try await written(world), try await written(world, to: "subscriptions"))
            #expect(world.recorder.take().count == destinations)
            let parts = Int64(destinations / RingWalk.partSize)
            let rows = after.0 - before.0
            #expect(rows > parts / 4)
            #expect(rows <= 2 * parts + 20)
            #expect(after.1 == before.1)
        }
    }

    @Test("Several rings cost a few row writes more, whoever rides")
    func rings() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.ringSize = 2_000 }) { world in
            let destinations = 20_000
            try await world.start()
            try await world.crowd(destinations)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM segments") == Int64(RingDivision.mostRings))
            let before = (try await written(world), try await written(world, to: "subscriptions"))
            _ = world.recorder.take()
            try await world.update(score: 2)
            try await world.settle()
            let after = (try await written(world), try await written(world, to: "subscriptions"))
            #expect(world.recorder.take().count == destinations)
            let parts = destinations / RingWalk.smallestPart
            #expect(after.0 - before.0 <= Int64(2 * parts + 20 * RingDivision.mostRings))
            #expect(after.1 == before.1)
        }
    }

    @Test("What one change costs grows by the exceptions alone")
    func exceptions() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(3_000)
            try await world.settle()
            for number in 1...7 { world.recorder.answer(World.crowdToken(number * 300), with: .unregistered(at: nil)) }
            let before = try await written(world, to: "subscriptions")
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await written(world, to: "subscriptions") - before == 7)
        }
    }

    @Test("A change to a small activity looks at its own cards, when nearly all that there are follow another")
    func besideALargeOne() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(5_000)
            // Statistics as they are with one large activity: any number of cards is expected of every activity.
            try await world.database.withConnection { connection in
                try await connection.executeScript("VACUUM (ANALYZE)", timeout: .seconds(60))
            }
            for number in 1...3 {
                try await world.start("a\(number)")
                try await world.follow("d\(number)", token: "aa0\(number)", in: "a\(number)", known: 1)
            }
            try await world.settle()
            _ = world.recorder.take()
            let before = try await read(world)
            for number in 1...3 { try await world.update("a\(number)", score: 1) }
            try await world.settle()
            #expect(world.recorder.take().count == 3)
            #expect(try await read(world) - before < 1_000)
        }
    }

    @Test("The end of one card of a large activity looks at few of the others")
    func oneOfMany() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(5_000)
            try await world.settle()
            try await world.database.withConnection { connection in
                try await connection.executeScript("VACUUM (ANALYZE)", timeout: .seconds(60))
            }
            let before = try await read(world)
            let device = DeviceID(stored: "crowd2500")
            try await world.orchestrator.intake.unsubscribe(world.app, ActivityID(stored: "final"), device)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == [World.crowdToken(2_500)])
            // A look at the size of the ring reads at most 1,001.
            let looked = try await read(world) - before
            #expect(looked < 2_000)
            #expect(try await world.subscription("crowd2500") == nil)
        }
    }

    @Test("A look at an activity reads one of a thousand starts, also by a plan that was made while there were none")
    func lookAtStarts() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            let look = ActivitySnapshot.selection(key, for: SegmentRows.firstRing)
            let counting: Query = """
                SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 FROM pg_stat_xact_user_tables WHERE relname = 'starts'
                """
            let (before, after) = try await world.database.withTransaction { connection in
                _ = try await connection.pipeline([
                    "ANALYZE starts", .planningOnce, look,
                    """
                    INSERT INTO devices (bundle_id, device_id, environment)
                    SELECT \(world.app.rawValue), 'd' || n, 'production' FROM generate_series(1, 1000) AS n
                    """,
                    """
                    INSERT INTO starts (activity_key, device_key, state, due_at)
                    SELECT \(key), device_key, 'pending', now() + interval '1 hour' FROM devices
                    """,
                ])
                let results = try await connection.pipeline([counting, look, counting])
                return (try results[0].single(Int64.self) ?? 0, try results[2].single(Int64.self) ?? 0)
            }
            #expect(after - before <= 2)
        }
    }

    @Test("A change that nobody follows reads no index entries of another activity")
    func nobodyFollows() async throws {
        try await withWorld { world in
            try await world.start("unfollowed")
            try await world.start()
            try await world.crowd(3_000)
            try await world.settle()
            // Its cards leave thousands of dead entries behind those of the first activity.
            _ = try await world.database.execute("UPDATE subscriptions SET state = 'over'")
            let before = try await entries(world)
            try await world.update("unfollowed", score: 1)
            #expect(try await entries(world) - before < 100)
        }
    }

    /// Entries that indexes of cards have given so far, dead ones included.
    private func entries(_ world: World) async throws -> Int64 {
        try await publishStatistics(world)
        return try await world.number(
            "SELECT sum(idx_tup_read)::int8 FROM pg_stat_user_indexes WHERE relname = 'subscriptions'"
        ) ?? 0
    }

    /// Rows of cards that were looked at so far.
    private func read(_ world: World) async throws -> Int64 {
        try await publishStatistics(world)
        return try await world.number(
            "SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 FROM pg_stat_user_tables WHERE relname = 'subscriptions'"
        ) ?? 0
    }
}
