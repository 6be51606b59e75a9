import ActivityModel
import Postgres
import Synchronization
import Testing

@testable import Orchestrator

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
}
