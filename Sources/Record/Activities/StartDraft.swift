package import APITypes
import ActivityModel
package import Postgres
import Store

/// Answers to starts whose audience is still to be counted.
package enum StartDraft {
    /// The statement whose rows ``read(_:)`` reads.
    package static func selection(_ activityKeys: [Int64]) -> Query {
        """
        SELECT a.activity_key, a.activity_id, a.state::text, a.revision, c.timestamp, l.channel_id::text, l.apns_channel_id,
               l.state::text AS channel_state
        FROM unnest(\(activityKeys)) AS k(activity_key)
        CROSS JOIN LATERAL (SELECT * FROM activities WHERE activity_key = k.activity_key OFFSET 0) AS a
        CROSS JOIN LATERAL (
            SELECT timestamp FROM changes WHERE activity_key = a.activity_key AND revision = a.revision OFFSET 0
        ) AS c
        LEFT JOIN LATERAL (
            SELECT * FROM channels AS l WHERE l.activity_key = a.activity_key
            ORDER BY \(unescaped: ChannelStanding.servingFirst("l")) LIMIT 1
        ) AS l ON true
        """
    }

    /// By the keys of the activities. One that was deleted is missing.
    package static func read(_ rows: Rows) throws -> [Int64: StartAnswer] {
        var drafts: [Int64: StartAnswer] = [:]
        for row in rows {
            let key: Int64 = try row["activity_key"]
            drafts[key] = StartAnswer(
                activityID: ActivityID(stored: try row["activity_id"]),
                state: try .stored(row["state"]),
                revision: try row["revision"],
                timestamp: try row["timestamp"],
                channel: try channel(row),
                audience: AudienceCounts()
            )
        }
        return drafts
    }

    private static func channel(_ row: Row) throws -> ChannelReference? {
        guard let id = try row["channel_id"] as String? else { return nil }
        let apnsID: String? = try row["apns_channel_id"]
        return ChannelReference(
            id: ChannelID(stored: id),
            apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
            state: try .stored(row["channel_state"])
        )
    }
}
