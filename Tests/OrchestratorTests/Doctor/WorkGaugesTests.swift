import MetricsTestKit
import Postgres
import Testing

@testable import Orchestrator

@Suite("Gauges of the work", .timeLimit(.minutes(2)))
struct WorkGaugesTests {
    @Test("A look at the work that fails says nothing of whether the database can be reached")
    func reachable() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let gauges = WorkGauges(orchestrator: world.orchestrator, metrics: metrics)
            try await gauges.update()
            #expect(try metrics.expectGauge("tally_leases_held").lastValue == 0)
            try await world.database.execute("ALTER TABLE segments RENAME TO slow")
            await #expect(throws: PostgresError.self) { try await gauges.update() }
            #expect(try metrics.expectGauge("tally_database_reachable").lastValue == 1)
        }
    }

    @Test("A database that does not answer is told as out of reach")
    func unreachable() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let away = StatementGate { (_) async throws(PostgresError) in throw PostgresError(.connectionLost) }
            let gauges = WorkGauges(orchestrator: world.sibling(behind: away).orchestrator, metrics: metrics)
            await #expect(throws: PostgresError.self) { try await gauges.update() }
            let reachable = try metrics.expectGauge("tally_database_reachable").lastValue
            #expect(reachable == 0)
        }
    }

    @Test("Segments at rest are not read, however many there are; what is leased is counted as held")
    func rest() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start(to: World.devices("d1"))
            _ = try await world.orchestrator.segments.claim(limit: 1)
            try await world.database.execute(
                """
                INSERT INTO segments (activity_key, segment, after_key, through_key)
                SELECT activity_key, n, n, n + 1 FROM activities, generate_series(1, 3000) AS n
                """
            )
            try await world.database.execute("ANALYZE segments, activities")
            let before = try await world.rowsRead("segments")
            let facts = try await WorkFacts.read(app: nil, from: world.database)
            #expect(facts.held == 1)
            #expect(try await world.rowsRead("segments") - before < 100)
        }
    }
}

extension World {
    /// How many rows of a table the only connection has read until now.
    func rowsRead(_ table: String) async throws -> Int64 {
        _ = try await database.query("SELECT pg_stat_force_next_flush()")
        return try await number(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = \(table)"
        ) ?? 0
    }
}
