package import ActivityModel
import Channels
import Postgres
import Store

/// Whether the starts of an activity can leave now.
package struct StartProspect: Sendable {
    /// Its channel, if Apple has it.
    package let channel: APNSChannelID?
    /// Whether a start is due.
    package let isDue: Bool
}

extension DeliveryStore {
    /// Looks at the channel of an activity, and whether a start is due.
    package func startProspect(of activityKey: Int64) async throws -> StartProspect {
        let results = try await database.pipeline([
            """
            SELECT \(unescaped: ChannelRows.mayStart)
               AND \(unescaped: ActivitySnapshot.areStartsDue)
            FROM activities AS a WHERE a.activity_key = \(activityKey)
            """,
            // Read last: a channel that was ready a moment ago is there now.
            """
            SELECT apns_channel_id FROM channels AS c
            WHERE activity_key = \(activityKey) AND \(unescaped: ChannelStanding.isReady("c"))
            """,
        ])
        let channel = try results[1].single(String?.self).flatMap { $0 }.map(APNSChannelID.init(stored:))
        return StartProspect(channel: channel, isDue: try results[0].single(Bool.self) ?? false)
    }
}
