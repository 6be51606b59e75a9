package import ActivityModel
package import Postgres
import Store

// The channels that serve activities: those that are not lost.
extension ChannelRows {
    /// The statement that reads the channels which serve activities, for ``serving(_:)``.
    package static func serving(_ activityKeys: [Int64]) -> Query {
        """
        SELECT activity_key, coalesce(apns_channel_id, '') FROM channels AS c
        WHERE activity_key = ANY(\(activityKeys)) AND \(unescaped: ChannelStanding.serves("c"))
        """
    }

    /// The ids that Apple has given to the channels of activities. An id is empty until Apple has made the channel.
    package static func serving(_ rows: Rows) throws -> [Int64: [String]] {
        Dictionary(grouping: try rows.decoded(as: (Int64, String).self)) { $0.0 }.mapValues { $0.map(\.1) }
    }
}

/// The channel that serves an activity.
package struct ServingChannel: Sendable {
    /// Nil until Apple has made it.
    package let apnsID: APNSChannelID?
    package let storage: ChannelStorage

    /// Reads the channel of an activity; nil if no channel serves it.
    package static func read(of activityKey: Int64, on connection: PostgresConnection) async throws -> ServingChannel? {
        let rows = try await connection.query(
            """
            SELECT apns_channel_id, storage::text FROM channels AS c
            WHERE activity_key = \(activityKey) AND \(unescaped: ChannelStanding.serves("c"))
            """
        )
        guard let (apnsID, storage) = try rows.first(as: (String?, String).self) else { return nil }
        return ServingChannel(apnsID: apnsID.map(APNSChannelID.init(stored:)), storage: try .stored(storage))
    }
}
