package import ActivityModel
package import Postgres
import Store

extension ActivityRows {
    /// The statement that reads the next activities of an app whose start, as it is kept, names a user or one of some
    /// devices. It looks at the activities with ids behind `last`, at most `pageSize`.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - devices: The devices.
    ///   - app: Their app.
    ///   - last: The last activity of the page before; at first an empty text.
    ///   - pageSize: How many activities to look at.
    /// - Returns: The statement. It returns one row. The first column is the last activity of the page; null if no page
    ///   follows. The second has the `activity_key` of the activities that name one of them.
    package static func starts(
        naming user: UserID,
        _ devices: [String],
        in app: BundleID,
        behind last: String,
        pageSize: Int
    ) -> Query {
        """
        WITH page AS MATERIALIZED (
            SELECT activity_key, activity_id, start_body FROM activities
            WHERE bundle_id = \(app.rawValue) AND activity_id > \(last)
            ORDER BY activity_id LIMIT \(pageSize)
        )
        SELECT (SELECT CASE WHEN count(*) = \(pageSize) THEN max(activity_id) END FROM page), ARRAY(
            SELECT activity_key FROM page
            WHERE \(part: isNamed(user, devices))
        )
        """
    }

    /// The statement that reads the `activity_key` of an activity; 0 if all are young. No transaction is under way that
    /// inserts an activity with a smaller key.
    ///
    /// A key is given before the commit, so a greater key may be committed first. But no transaction that inserts
    /// activities lasts for minutes: its statements have a deadline, and the server ends it if it idles.
    package static var lastOldKey: Query {
        """
        SELECT coalesce((
            SELECT activity_key FROM activities WHERE created_at < now() - interval '5 minutes'
            ORDER BY activity_key DESC LIMIT 1
        ), 0)
        """
    }

    /// The statement that reads the `activity_key` of each activity of an app behind a key, whose start, as it is kept,
    /// names a user or one of some devices.
    ///
    /// It reads activities of all apps in the order of their keys. The planner could take an index that begins with the
    /// app, and read all activities of the app.
    package static func lateStarts(
        naming user: UserID,
        _ devices: [String],
        in app: BundleID,
        behind activityKey: Int64
    ) -> Query {
        """
        SELECT activity_key FROM (
            SELECT activity_key, bundle_id, start_body FROM activities
            WHERE activity_key > \(activityKey) ORDER BY activity_key OFFSET 0
        ) AS late
        WHERE bundle_id = \(app.rawValue) AND \(part: isNamed(user, devices))
        """
    }

    /// A part of a statement: whether a start, as it is kept, names a user or one of some devices.
    private static func isNamed(_ user: UserID, _ devices: [String]) -> Query {
        """
        (\(unescaped: StartAudience.named("users", in: "start_body")) ?| \([user.rawValue])
         OR \(unescaped: StartAudience.named("devices", in: "start_body")) ?| \(devices))
        """
    }

    /// The statement that holds activities in the order in which everybody locks several. It returns `activity_key` and
    /// `start_body` of each, as text; null for a start that names neither the user nor one of the devices.
    package static func holdStarts(of activityKeys: [Int64], naming user: UserID, _ devices: [String]) -> Query {
        """
        SELECT activity_key, CASE WHEN \(part: isNamed(user, devices)) THEN start_body::text END FROM activities
        WHERE activity_key = ANY(\(activityKeys)) ORDER BY activity_key FOR NO KEY UPDATE
        """
    }

    /// The statement that replaces the stored starts of locked activities. It takes one body, as a text of JSON, for
    /// each key.
    package static func replaceStarts(with bodies: [String], of activityKeys: [Int64]) -> Query {
        """
        UPDATE activities AS a SET start_body = u.body::json
        FROM unnest(\(activityKeys), \(bodies)) AS u(activity_key, body) WHERE a.activity_key = u.activity_key
        """
    }
}
