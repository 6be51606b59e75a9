import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Store

/// Removes a user, and the devices of that user, from the stored audiences of activities.
enum UserErasure {
    /// The ids of the user's devices.
    static func devices(_ app: BundleID, _ user: UserID, on connection: PostgresConnection) async throws -> [String] {
        let rows = try await connection.query(
            "SELECT device_id FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)"
        )
        return try rows.decoded(as: String.self)
    }

    /// The statement that locks the user's devices, as all do who lock activities after them: reports, and
    /// registrations.
    static func hold(_ app: BundleID, _ user: UserID) -> Query {
        """
        SELECT FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)
        ORDER BY device_key FOR UPDATE
        """
    }

    /// The activities that name the user or a device of the user, in the start as it is kept or in the audience. It
    /// reads all activities of the app, at most `pageSize` a statement: run it before the transaction writes anything,
    /// because readers of events wait for who writes.
    static func activities(
        _ app: BundleID,
        _ user: UserID,
        _ devices: [String],
        pageSize: Int,
        on connection: PostgresConnection
    ) async throws -> [Int64] {
        let members = try await connection.query(
            """
            SELECT activity_key FROM audience_members
            WHERE bundle_id = \(app.rawValue) AND (
                kind = 'user' AND member_id = \(user.rawValue) OR kind = 'device' AND member_id = ANY(\(devices))
            )
            """
        )
        var keys = Set(try members.decoded(as: Int64.self))
        var place: String? = ""
        while let after = place {
            let page = try await connection.query(
                """
                WITH page AS MATERIALIZED (
                    SELECT activity_key, activity_id, start_body FROM activities
                    WHERE bundle_id = \(app.rawValue) AND activity_id > \(after)
                    ORDER BY activity_id LIMIT \(pageSize)
                )
                SELECT (SELECT CASE WHEN count(*) = \(pageSize) THEN max(activity_id) END FROM page), ARRAY(
                    SELECT activity_key FROM page
                    WHERE \(unescaped: StoredJSON.at("{audience,users}", of: "start_body"))::jsonb ?| \([user.rawValue])
                       OR \(unescaped: StoredJSON.at("{audience,devices}", of: "start_body"))::jsonb ?| \(devices)
                )
                """
            )
            place = nil
            for (last, named) in try page.decoded(as: (String?, [Int64]).self) {
                place = last
                keys.formUnion(named)
            }
        }
        return keys.sorted()
    }

    /// Locks these activities, and rewrites the starts that named the user or a device of the user, while the devices
    /// are still there.
    ///
    /// A replay is judged against the start as it is kept, so one that still names the user is another start from now
    /// on.
    static func starts(
        of activityKeys: [Int64],
        _ user: UserID,
        _ devices: [String],
        on connection: PostgresConnection
    ) async throws {
        // In the order in which everybody locks several.
        let rows = try await connection.query(
            """
            SELECT activity_key, start_body::text FROM activities
            WHERE activity_key = ANY(\(activityKeys)) ORDER BY activity_key FOR NO KEY UPDATE
            """
        )
        var keys: [Int64] = []
        var bodies: [String] = []
        for (key, text) in try rows.decoded(as: (Int64, String).self) {
            guard var body = try JSONValue(parsing: text).object, let named = body["audience"]?.object else { continue }
            var audience = named
            audience["users"] = without([user.rawValue], audience["users"])
            audience["devices"] = without(devices, audience["devices"])
            guard audience != named else { continue }
            body["audience"] = .object(audience)
            keys.append(key)
            bodies.append(JSONValue.object(body).text)
        }
        guard !keys.isEmpty else { return }
        _ = try await connection.execute(ActivityRows.replaceStarts(with: bodies, of: keys))
    }

    private static func without(_ ids: [String], _ list: JSONValue?) -> JSONValue? {
        list?.array.map { .array($0.filter { !ids.contains($0.string ?? "") }) }
    }
}
