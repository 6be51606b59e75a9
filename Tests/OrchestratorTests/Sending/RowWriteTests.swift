import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Synchronization
import Testing

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
        try await withWorld(settings: OrchestratorSettings(ringSize: 2_000)) { world in
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
            try await world.orchestrator.unsubscribe(world.app, ActivityID(stored: "final"), device)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == [World.crowdToken(2_500)])
            #expect(try await world.subscription("crowd2500") == nil)
            // A look at the size of the ring reads at most 1,001.
            #expect(try await read(world) - before < 2_000)
        }
    }

    @Test("A start looks at few of the others, when the daemon began with an empty database")
    func startsFromNothing() async throws {
        let count: Int64 = 4_000
        try await withWorld { world in
            // Plans are made with statistics that say: nothing is there.
            try await world.database.withConnection { connection in
                try await connection.executeScript("VACUUM (ANALYZE)", timeout: .seconds(60))
            }
            try await world.register("d1", token: "5a01")
            try await world.start("first", to: Audience(allOfType: true))
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            _ = try await world.database.execute(
                """
                WITH crowd AS (
                    INSERT INTO devices (bundle_id, device_id, environment, os_version)
                    SELECT \(world.app.rawValue), 'crowd' || n, 'production', '17.2' FROM generate_series(1, \(count)) AS n
                    RETURNING device_key
                )
                INSERT INTO start_tokens (device_key, type_name, token)
                SELECT device_key, 'Game', int8send(device_key) FROM crowd
                """
            )
            let before = try await entries(of: "starts", world)
            try await world.start(to: Audience(allOfType: true))
            try await world.settle()
            #expect(world.recorder.take().count == Int(count) + 1)
            #expect(try await entries(of: "starts", world) - before < 30 * count)
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
            let before = try await entries(of: "subscriptions", world)
            try await world.update("unfollowed", score: 1)
            #expect(try await entries(of: "subscriptions", world) - before < 100)
        }
    }

    /// Entries that the indexes of a table have given so far, dead ones included.
    private func entries(of table: String, _ world: World) async throws -> Int64 {
        try await publishStatistics(world)
        return try await world.number(
            "SELECT sum(idx_tup_read)::int8 FROM pg_stat_user_indexes WHERE relname = \(table)"
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
