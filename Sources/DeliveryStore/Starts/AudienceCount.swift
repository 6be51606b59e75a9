package import APITypes
package import Postgres
import Store

/// Counts how many an audience reaches now, stretch by stretch: no statement takes long, however many they are.
package enum AudienceCount {
    /// Counts `stretchSize` members, and as many devices, by one statement.
    package static func of(
        _ activityKey: Int64,
        stretchSize: Int = 20_000,
        in database: Database
    ) async throws -> AudienceCounts {
        var counts = AudienceCounts()
        var place = AudienceStretch.Cursor()
        while true {
            let stretch = AudienceStretch(activityKey: activityKey, after: place, size: stretchSize)
            let rows = try await database.pipeline([.planningOnce, stretch.query(counting)])[1]
            guard let row = rows.first else { return counts }
            let first = AudienceStretch.extentColumns
            counts.devices += Int(try row.decode(Int64.self, at: first))
            counts.unknownUsers += Int(try row.decode(Int64.self, at: first + 1))
            counts.unknownDevices += Int(try row.decode(Int64.self, at: first + 2))
            let extent = try stretch.extent(in: row)
            if extent.isLast { return counts }
            place = extent.end
        }
    }

    /// A device counts once: with all, else by its own name, else by its user's, else with the first topic that covers
    /// it. If both the device and its user follow that topic, it counts once.
    private static let counting = """
         SELECT \(AudienceStretch.extent), (
            SELECT count(*) FROM activity AS a CROSS JOIN everybody AS d WHERE \(AudienceStretch.isReachedWithAll)
        ) + (
            SELECT count(*) FROM activity AS a CROSS JOIN members AS m CROSS JOIN LATERAL (
                SELECT d.device_key FROM devices AS d
                WHERE d.bundle_id = a.bundle_id AND d.device_id = m.member_id AND d.environment = a.environment OFFSET 0
            ) AS d
            WHERE m.kind = 'device' AND NOT \(AudienceStretch.isReachedWithAll)
        ) + (
            SELECT count(*) FROM activity AS a CROSS JOIN members AS m CROSS JOIN LATERAL (
                SELECT d.device_key, d.device_id FROM devices AS d
                WHERE d.bundle_id = a.bundle_id AND d.user_id = m.member_id AND d.environment = a.environment OFFSET 0
            ) AS d
            WHERE m.kind = 'user' AND NOT \(AudienceStretch.isReachedWithAll) AND NOT \(AudienceCoverage.names("device", "d.device_id"))
        ) + (
            SELECT count(*) FROM activity AS a CROSS JOIN rule AS r CROSS JOIN followers AS f
            CROSS JOIN LATERAL \(AudienceStretch.devicesOfFollower) AS d
            WHERE d.environment = a.environment AND \(AudienceStretch.isWithinRule)
              AND NOT \(AudienceStretch.isReachedWithAll) AND NOT \(AudienceCoverage.names("device", "d.device_id"))
              AND NOT \(AudienceCoverage.names("user", "d.user_id"))
              AND NOT (f.user_id IS NOT NULL AND \(TopicFollowing.deviceFollows("r.topic", device: "d.device_key")))
              AND NOT EXISTS (
                  SELECT FROM audience_topics AS o
                  WHERE o.activity_key = a.activity_key AND o.rule_key < r.rule_key
                    AND \(TopicFollowing.covers("o", device: "d.device_key", user: "d.user_id")) OFFSET 0)
        ), (
            SELECT count(*) FROM activity AS a CROSS JOIN members AS m
            WHERE m.kind = 'user' AND NOT \(isRegistered)
        ), (
            SELECT count(*) FROM activity AS a CROSS JOIN members AS m
            WHERE m.kind = 'device' AND NOT \(isRegistered)
        )
        """

    private static let isRegistered = AudienceCoverage.isRegistered("m.kind", "m.member_id", of: "a.bundle_id")
}
