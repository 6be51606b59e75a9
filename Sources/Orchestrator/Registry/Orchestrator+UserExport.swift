package import APITypes
package import ActivityModel
import Postgres
import Store

extension Orchestrator {
    /// All that is stored of a user, without tokens. Each list is cut at ``UserExport/limit``.
    ///
    /// - Throws: 404 if no device, no topic and no audience names the user.
    package func exportUser(_ app: BundleID, _ id: UserID) async throws -> UserExport {
        let user = try await user(app, id, limit: UserExport.limit)
        let names = user.devices.map(\.deviceID.rawValue)
        let results = try await database.pipeline([
            .planningOnce, Self.topics(app, devices: names), Self.pushes(app, devices: names),
        ])
        let topics = try results[1].decoded(as: (String, [String]).self).map { device, topics in
            DeviceTopics(deviceID: DeviceID(stored: device), topics: topics.map { Topic(stored: $0) })
        }
        let pushes = try results[2].map { row in
            RecordedPush(
                at: Instant(try row.decode(PGTimestamp.self, at: 0)),
                deviceID: DeviceID(stored: try row.decode(at: 1)),
                activityID: try row.decode(String?.self, at: 2).map { ActivityID(stored: $0) },
                event: try row.decode(at: 3),
                revision: try row.decode(at: 4),
                status: try row.decode(Int16?.self, at: 5).map { Int($0) },
                reason: try row.decode(at: 6)
            )
        }
        var export = UserExport(
            exportedAt: Instant(try await clock.now()),
            user: user,
            deviceTopics: topics,
            pushes: Array(pushes.prefix(UserExport.limit))
        )
        if pushes.count > UserExport.limit { export.user.isTruncated = true }
        return export
    }

    private static func topics(_ app: BundleID, devices: [String]) -> Query {
        """
        SELECT d.device_id, f.topics FROM unnest(\(devices)) AS n(device_id)
        CROSS JOIN LATERAL (
            SELECT device_key, device_id FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (
            SELECT array_agg(topic ORDER BY topic) AS topics FROM topic_follows
            WHERE topic_follows.device_key = d.device_key OFFSET 0
        ) AS f
        WHERE f.topics IS NOT NULL
        """
    }

    private static func pushes(_ app: BundleID, devices: [String]) -> Query {
        """
        SELECT t.at, d.device_id, a.activity_id, t.event, t.revision, t.status, t.reason
        FROM unnest(\(devices)) AS n(device_id)
        CROSS JOIN LATERAL (
            SELECT device_key, device_id FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (SELECT * FROM timeline WHERE timeline.device_key = d.device_key OFFSET 0) AS t
        LEFT JOIN LATERAL (
            SELECT activity_id FROM activities WHERE activities.activity_key = t.activity_key OFFSET 0
        ) AS a ON true
        ORDER BY t.at DESC, t.entry_id DESC LIMIT \(UserExport.limit + 1)
        """
    }
}
