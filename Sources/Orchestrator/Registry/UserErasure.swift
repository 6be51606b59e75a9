import ActivityModel
import JSON
import Postgres

/// Takes a user, and the devices of that user, out of what activities remember of their audiences.
enum UserErasure {
    /// The statement that forgets every mention in an audience.
    static func audience(_ app: BundleID, _ user: UserID) -> Query {
        """
        DELETE FROM audience_members AS m
        WHERE m.bundle_id = \(app.rawValue) AND (
            m.kind = 'user' AND m.member_id = \(user.rawValue)
            OR m.kind = 'device' AND m.member_id IN (
                SELECT device_id FROM devices
                WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)
            )
        )
        """
    }

    /// Rewrites the starts that named the user or a device of the user, while the devices are still there.
    ///
    /// A replay is judged against the start as it is kept, so one that still names the user is another start from now on.
    static func starts(_ app: BundleID, _ user: UserID, on connection: PostgresConnection) async throws {
        let devices = try await connection.query(
            "SELECT device_id FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)"
        ).decoded(as: String.self)
        let rows = try await connection.query(
            """
            SELECT activity_key, start_body::text FROM activities
            WHERE bundle_id = \(app.rawValue) AND (
                (start_body #> '{audience,users}')::jsonb ?| \([user.rawValue])
                OR (start_body #> '{audience,devices}')::jsonb ?| \(devices)
            )
            FOR NO KEY UPDATE
            """
        )
        var keys: [Int64] = []
        var bodies: [String] = []
        for (key, text) in try rows.decoded(as: (Int64, String).self) {
            guard var body = try JSONValue(parsing: text).object, var audience = body["audience"]?.object else {
                continue
            }
            audience["users"] = without([user.rawValue], audience["users"])
            audience["devices"] = without(devices, audience["devices"])
            body["audience"] = .object(audience)
            keys.append(key)
            bodies.append(JSONValue.object(body).text)
        }
        guard !keys.isEmpty else { return }
        _ = try await connection.execute(
            """
            UPDATE activities AS a SET start_body = u.body::json
            FROM unnest(\(keys), \(bodies)) AS u(activity_key, body) WHERE a.activity_key = u.activity_key
            """
        )
    }

    private static func without(_ ids: [String], _ list: JSONValue?) -> JSONValue? {
        list?.array.map { .array($0.filter { !ids.contains($0.string ?? "") }) }
    }
}
