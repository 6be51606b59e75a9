package import APITypes
package import ActivityModel
import Postgres
import Store

extension Orchestrator {
    /// The devices of a user, their cards, and the activities whose audience names them. Each list is cut at
    /// ``UserResource/limit``.
    ///
    /// - Throws: 404 if no device and no audience names the user.
    package func user(_ app: BundleID, _ id: UserID) async throws -> UserResource {
        let devices = try await devices(app, user: id, PageRequest(limit: UserResource.limit))
        let names = devices.items.map(\.deviceID.rawValue)
        let results = try await database.pipeline([
            .planningOnce, Self.cards(app, devices: names), Self.activities(app, naming: id, devices: names),
        ])
        let cards = try results[1].map { row in
            UserCard(
                activityID: ActivityID(stored: try row.decode(at: 0)),
                type: ActivityTypeName(stored: try row.decode(at: 1)),
                activityState: try .stored(row.decode(at: 2)),
                card: try Self.card(in: row, from: 3)
            )
        }
        let activities = try results[2].decoded(as: (String, String, String).self).map { id, type, state in
            UserActivity(
                activityID: ActivityID(stored: id),
                type: ActivityTypeName(stored: type),
                state: try .stored(state)
            )
        }
        if devices.items.isEmpty, activities.isEmpty { throw Problem.notFound("the user") }
        return UserResource(
            userID: id,
            devices: devices.items,
            cards: Array(cards.prefix(UserResource.limit)),
            activities: Array(activities.prefix(UserResource.limit)),
            isTruncated: devices.nextCursor != nil || max(cards.count, activities.count) > UserResource.limit
        )
    }

    private static func cards(_ app: BundleID, devices: [String]) -> Query {
        """
        SELECT a.activity_id, a.type_name, a.state::text, \(unescaped: cardColumns)
        FROM devices AS d JOIN subscriptions AS s USING (device_key) JOIN activities AS a USING (activity_key)
        WHERE d.bundle_id = \(app.rawValue) AND d.device_id = ANY(\(devices))
        ORDER BY s.activity_key DESC, s.device_key LIMIT \(UserResource.limit + 1)
        """
    }

    private static func activities(_ app: BundleID, naming user: UserID, devices: [String]) -> Query {
        """
        SELECT a.activity_id, a.type_name, a.state::text
        FROM (
            SELECT activity_key FROM audience_members
            WHERE bundle_id = \(app.rawValue) AND kind = 'user' AND member_id = \(user.rawValue)
            UNION
            SELECT activity_key FROM audience_members
            WHERE bundle_id = \(app.rawValue) AND kind = 'device' AND member_id = ANY(\(devices))
        ) AS m JOIN activities AS a USING (activity_key)
        ORDER BY a.activity_key DESC LIMIT \(UserResource.limit + 1)
        """
    }
}
