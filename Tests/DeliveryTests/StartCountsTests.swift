import ActivityModel
import APITypes
import Cards
import OrchestratorTestSupport
import Postgres
import Testing

@Suite("Counting those whom a start would reach", .timeLimit(.minutes(2)))
struct StartCountsTests {
    /// How many blocks of an index the only connection has asked for until now.
    private func blocks(of index: String, in world: World) async throws -> Int64 {
        _ = try await world.database.query("SELECT pg_stat_force_next_flush()")
        return try await world.number(
            "SELECT idx_blks_hit + idx_blks_read FROM pg_statio_user_indexes WHERE indexrelname = \(index)"
        ) ?? 0
    }

    @Test("Each page begins where the one before has ended, so the last takes no longer than the first")
    func pages() async throws {
        try await withWorld(connections: 1) { world in
            _ = try await world.database.execute(
                """
                WITH made AS (
                    INSERT INTO devices (bundle_id, device_id, environment)
                    SELECT \(world.app.rawValue), 'd' || n, 'production' FROM generate_series(1, 20000) AS n
                    RETURNING device_key
                )
                INSERT INTO start_tokens (device_key, type_name, token)
                SELECT device_key, 'Game', decode(lpad(to_hex(device_key), 16, '0'), 'hex') FROM made
                """
            )
            try await world.database.execute("VACUUM ANALYZE devices")
            func count(pageSize: Int) async throws -> Int64 {
                let before = try await blocks(of: "devices_in_order", in: world)
                let counts = try await StartCounts.read(
                    Audience(allOfType: true),
                    of: world.app,
                    .production,
                    type: World.game,
                    pageSize: pageSize,
                    from: world.database
                )
                #expect(counts.audience.devices == 20_000)
                return try await blocks(of: "devices_in_order", in: world) - before
            }
            let whole = try await count(pageSize: 100_000)
            // Each of 100 pages goes down the index twice. Read from its beginning, they would read it 50 times and more.
            #expect(try await count(pageSize: 200) < 3 * whole + 100 * 2 * 3)
        }
    }
}
