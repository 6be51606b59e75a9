import APITypes
import Postgres
import Store

/// Counts how many an audience reaches now, stretch by stretch: no statement takes long, however many they are.
enum AudienceCount {
    /// Counts `stretchSize` members, and as many devices, by one statement.
    static func of(
        _ activityKey: Int64,
        stretchSize: Int = 20_000,
        in database: Database
    ) async throws -> AudienceCounts {
        var counts = AudienceCounts()
        var place = AudienceStretch.Place()
        while true {
            let stretch = AudienceStretch(activityKey: activityKey, after: place, size: stretchSize)
            let rows = try await database.pipeline([.planningOnce, stretch.query(counting)])[1]
            guard
                let (members, memberCount, devices, deviceCount, reached, unknownUsers, unknownDevices) =
                    try rows.first(
                        as: (Int64?, Int64, Int64?, Int64, Int64, Int64, Int64).self
                    )
            else { return counts }
            counts.devices += Int(reached)
            counts.unknownUsers += Int(unknownUsers)
            counts.unknownDevices += Int(unknownDevices)
            let extent = stretch.extent(members, memberCount, devices, deviceCount)
            if extent.isLast { return counts }
            place = extent.end
        }
    }

    /// A device counts once: with all, else by its own name, else by its user's.
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
        ), (
            SELECT count(*) FROM activity AS a CROSS JOIN members AS m
            WHERE m.kind = 'user' AND NOT EXISTS (
                SELECT FROM devices AS d WHERE d.bundle_id = a.bundle_id AND d.user_id = m.member_id OFFSET 0
            )
        ), (
            SELECT count(*) FROM activity AS a CROSS JOIN members AS m
            WHERE m.kind = 'device' AND NOT EXISTS (
                SELECT FROM devices AS d WHERE d.bundle_id = a.bundle_id AND d.device_id = m.member_id OFFSET 0
            )
        )
        """
}
