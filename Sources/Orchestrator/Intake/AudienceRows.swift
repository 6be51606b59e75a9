import APITypes
import ActivityModel
import Postgres

/// The rows of `audience_members`.
enum AudienceRows {
    static func insertion(_ audience: Audience, app: BundleID, activityKey: Int64) -> [Query] {
        named(audience).map { kind, members in
            """
            INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
            SELECT DISTINCT \(activityKey), \(kind), m.member_id, \(app.rawValue)
            FROM unnest(\(members)) AS m(member_id)
            ON CONFLICT DO NOTHING
            """
        }
    }

    static func deletion(_ audience: Audience, activityKey: Int64) -> [Query] {
        named(audience).map { kind, members in
            """
            DELETE FROM audience_members
            WHERE activity_key = \(activityKey) AND kind = \(kind) AND member_id = ANY(\(members))
            """
        }
    }

    private static func named(_ audience: Audience) -> [(kind: String, members: [String])] {
        [("user", audience.users.map(\.rawValue)), ("device", audience.devices.map(\.rawValue))].filter { !$1.isEmpty }
    }
}
