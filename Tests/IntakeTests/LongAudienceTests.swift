import APITypes
import ActivityModel
import Postgres
import OrchestratorTestSupport
import TestSupport
import Testing

@testable import DeliveryStore
@testable import Store

@Suite("An audience with a long list of names", .timeLimit(.minutes(2)))
struct LongAudienceTests {
    private static let count = 2_000

    @Test("Each name is looked up once, also by a plan that was made while nobody was named")
    func plannedEmpty() async throws {
        try await withWorld { world in
            try await world.start()
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            _ = try await world.database.execute("VACUUM audience_members")
            #expect(try await AudienceCount.of(key, in: world.database) == AudienceCounts())
            _ = try await world.database.execute(
                """
                WITH devices AS (
                    INSERT INTO devices (bundle_id, device_id, environment, user_id)
                    SELECT \(world.app.rawValue), 'd' || n, 'production', 'u' || n FROM generate_series(1, \(Self.count)) AS n
                )
                INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
                SELECT \(key), 'user', 'u' || n, \(world.app.rawValue) FROM generate_series(1, \(Self.count)) AS n
                """
            )
            #expect(try await AudienceCount.of(key, in: world.database).devices == Self.count)
            let read: Query = """
                SELECT sum(idx_tup_read)::int8 FROM pg_stat_user_indexes WHERE relname = 'audience_members'
                """
            let entries = try await eventually("the server has counted") {
                _ = try await world.database.query("SELECT pg_stat_force_next_flush()")
                let entries = try await world.number(read) ?? 0
                return entries >= Int64(Self.count) ? entries : nil
            }
            // Some for each name, which the server's own work may add to. All of them for each name are 4,000,000.
            #expect(entries <= 100 * Int64(Self.count))
        }
    }

    @Test("A name covers what has exactly that name and is of its kind")
    func exactly() async throws {
        try await withWorld { world in
            try await world.start("other")
            try await world.start()
            _ = try await world.database.execute(
                """
                INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
                SELECT activity_key, m.kind, m.name, bundle_id FROM activities
                JOIN (VALUES ('other', 'device', 'd1'), ('final', 'device', 'd2'), ('final', 'device', 'u1'),
                      ('final', 'user', 'd1'), ('final', 'user', 'u3')) AS m(id, kind, name) ON activity_id = m.id
                """
            )
            let covered: Query = """
                SELECT string_agg(d.device_id, ' ' ORDER BY d.device_id)
                FROM (VALUES ('d1', 'u1'), ('d2', NULL), ('d3', 'u3'), ('d4', 'u30'), ('d', 'u'), ('e', NULL)) AS r(device_id, user_id)
                CROSS JOIN LATERAL (
                    SELECT r.device_id, r.user_id, 'production'::apns_environment AS environment, 0::int8 AS device_key
                ) AS d
                JOIN activities AS a ON a.activity_id = 'final'
                WHERE \(unescaped: AudienceCoverage.condition)
                """
            #expect(try await world.word(covered) == "d2 d3")
        }
    }
}
