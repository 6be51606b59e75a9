package import ActivityModel
import Cards
package import Postgres
import Store

/// The rows of `activity_app_versions`: which app versions follow an activity, and whether the newest state may go to
/// them.
package enum AppVersionRows {
    /// One row to be made.
    package struct New: Sendable {
        package let activityKey: Int64
        package let appVersion: String
        package let isWithheld: Bool
        /// The revision that was judged.
        package let revision: Revision

        package init(activityKey: Int64, appVersion: String, isWithheld: Bool, revision: Revision) {
            self.activityKey = activityKey
            self.appVersion = appVersion
            self.isWithheld = isWithheld
            self.revision = revision
        }
    }

    /// The statement that reads what follows activities; under their locks, where something is decided by it.
    package static func selection(_ activityKeys: [Int64]) -> Query {
        """
        SELECT activity_key, app_version, is_withheld FROM activity_app_versions WHERE activity_key = ANY(\(activityKeys))
        """
    }

    /// The statement that makes rows for app versions which are met for the first time.
    package static func insertion(_ rows: [New]) -> Query {
        """
        INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
        SELECT * FROM unnest(
            \(rows.map(\.activityKey)), \(rows.map(\.appVersion)), \(rows.map(\.isWithheld)), \(rows.map(\.revision))
        )
        ON CONFLICT (activity_key, app_version) DO NOTHING
        """
    }

    /// The statement that counts the rows of activities that have rows.
    package static func counts(_ activityKeys: [Int64]) -> Query {
        """
        SELECT activity_key, count(*) FROM activity_app_versions
        WHERE activity_key = ANY(\(activityKeys)) GROUP BY activity_key
        """
    }

    /// The statement that locks the rows of activities whose app version no device has, except rows that somebody else
    /// holds.
    package static func onNoDevice(_ activityKeys: [Int64]) -> Query {
        """
        SELECT v.activity_key, v.app_version FROM activity_app_versions AS v JOIN activities AS a USING (activity_key)
        WHERE v.activity_key = ANY(\(activityKeys)) AND \(unescaped: isOnNoDevice) FOR UPDATE OF v SKIP LOCKED
        """
    }

    /// The statement that deletes these of them which no device has got meanwhile. A device that gets such a version
    /// later is the first with it.
    package static func deletion(of rows: [(activityKey: Int64, appVersion: String)]) -> Query {
        """
        DELETE FROM activity_app_versions AS v
        USING unnest(\(rows.map(\.activityKey)), \(rows.map(\.appVersion))) AS r(activity_key, app_version), activities AS a
        WHERE v.activity_key = r.activity_key AND v.app_version = r.app_version AND a.activity_key = v.activity_key
          AND \(unescaped: isOnNoDevice)
        """
    }

    /// The condition that nobody in the environment of the activity `a` has the app version of the row `v`.
    private static let isOnNoDevice = """
        (v.app_version <> '' AND NOT EXISTS (
            SELECT FROM devices AS d
            WHERE d.bundle_id = a.bundle_id AND d.environment = a.environment AND d.app_version = v.app_version OFFSET 0
        ))
        """

    /// The statement that changes whether states go to app versions. The cards follow when a worker has settled that.
    package static func change(_ rows: [New]) -> Query {
        """
        UPDATE activity_app_versions AS v
        SET is_withheld = r.is_withheld, is_settled = false, settled_rings = '{}',
            decodes_from = CASE WHEN r.is_withheld THEN v.decodes_from ELSE r.revision END
        FROM unnest(
            \(rows.map(\.activityKey)), \(rows.map(\.appVersion)), \(rows.map(\.isWithheld)), \(rows.map(\.revision))
        ) AS r(activity_key, app_version, is_withheld, revision)
        WHERE v.activity_key = r.activity_key AND v.app_version = r.app_version
        """
    }

    /// The statement that looks for a follower on one page of the devices with an app version. Its row says whether the
    /// audience is still open, how many devices the page has, and the last of them and the first follower, by key.
    static func page(of follower: Follower, after deviceKey: Int64, limit: Int) -> Query {
        """
        SELECT a.state = 'scheduled' OR a.enrolment_due, page.devices, page.last, page.follower
        FROM (SELECT \(follower.activityKey)::int8 AS activity_key, \(follower.appVersion)::text AS app_version) AS r
        JOIN activities AS a USING (activity_key)
        CROSS JOIN LATERAL (
            SELECT count(*) AS devices, max(d.device_key) AS last,
                   min(d.device_key) FILTER (WHERE \(unescaped: follows)) AS follower
            FROM (\(unescaped: devices(after: deviceKey, limit: limit))) AS d
        ) AS page
        """
    }

    /// The condition that the device `d` has a card of the activity `a`, or is being started. A start that waits for the
    /// start budget leaves later.
    private static let follows = """
        (EXISTS (
            SELECT FROM subscriptions AS s
            WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
              AND (s.state = 'waiting_for_token' OR \(CardStanding.takesStates("s"))) OFFSET 0
        ) OR EXISTS (
            SELECT FROM starts AS s
            WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
              AND (s.state IN ('pending', 'claimed', 'unknown') OR s.due_at IS NOT NULL
                  OR (s.state = 'withheld' AND s.reason = '\(CardVersions.reason)')) OFFSET 0
        ))
        """

    /// A page of the devices that the activity `a` may have, with the app version of the row `r`, by key.
    private static func devices(after deviceKey: Int64, limit: Int) -> String {
        // Two selections, because one condition for both would read the devices of all versions.
        ["d.app_version = r.app_version", "r.app_version = '' AND d.app_version IS NULL"].map { condition in
            """
            (SELECT d.device_key FROM devices AS d
             WHERE d.bundle_id = a.bundle_id AND d.environment = a.environment AND \(condition)
               AND d.device_key > \(deviceKey)
             ORDER BY d.device_key LIMIT \(limit))
            """
        }.joined(separator: " UNION ALL ")
    }
}
