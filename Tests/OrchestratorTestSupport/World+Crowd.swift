import ActivityModel
import Postgres

extension World {
    /// Registers many cards at once, which ride on the ring of the activity `final` and have its first revision. Their
    /// tokens are `7000…`, in the order of the ring.
    package func crowd(_ count: Int) async throws {
        _ = try await database.execute(
            """
            WITH crowd AS (
                INSERT INTO devices (bundle_id, device_id, environment)
                SELECT \(app.rawValue), 'crowd' || n, 'production' FROM generate_series(1, \(count)) AS n
                RETURNING device_key, substr(device_id, 6)::int AS n
            )
            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision)
            SELECT a.activity_key, c.device_key, 'token', 'riding', decode('70' || lpad(c.n::text, 6, '0'), 'hex'), 1
            FROM crowd AS c CROSS JOIN activities AS a WHERE a.activity_id = 'final' ORDER BY c.n
            """
        )
    }

    /// The token of one of the crowd.
    package static func crowdToken(_ number: Int) -> String {
        let digits = String(number)
        return "70" + String(repeating: "0", count: 6 - digits.count) + digits
    }
}
