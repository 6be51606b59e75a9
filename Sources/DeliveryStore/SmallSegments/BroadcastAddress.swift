package import ActivityModel
import Channels
import Postgres
import Store

/// Where the broadcasts of an activity go.
package struct BroadcastAddress: Sendable {
    package let channelID: ChannelID
    package let apnsID: APNSChannelID
    /// The storage policy of the channel.
    package let storage: ChannelStorage
    /// Whether the channel was made so long ago that all of Apple's hosts know it.
    package let isSettled: Bool
}

extension BroadcastAddress {
    /// The columns that the initializer reads, of the channel `n`.
    static let columns = """
        n.channel_id::text AS channel_id, n.apns_channel_id, n.storage::text AS storage,
        coalesce(n.ready_at < clock_timestamp() - interval '\(Channels.settlingTime / .seconds(1)) seconds', false)
            AS is_settled
        """

    /// An SQL condition: broadcasts may leave on the channel `n`, and no late start is owed one.
    static let isReady = """
        (\(ChannelStanding.isReady("n")) AND (n.starts_until IS NULL OR n.starts_until > clock_timestamp()))
        """

    /// Reads the ``columns``, which begin at a column; nil if there is no channel.
    init?(_ row: Row, from first: Int) throws {
        guard let id = try row.decode(String?.self, at: first) else { return nil }
        channelID = ChannelID(stored: id)
        apnsID = APNSChannelID(stored: try row.decode(at: first + 1))
        storage = try .stored(try row.decode(at: first + 2))
        isSettled = try row.decode(at: first + 3)
    }
}
