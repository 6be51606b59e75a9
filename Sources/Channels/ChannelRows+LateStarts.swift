package import ActivityModel
package import Postgres

// Phones whose start has left, and whose card may listen to the channel only later.
extension ChannelRows {
    /// The part of a statement that notes on the channels in the rows of a table that starts of their activity are about
    /// to leave with a revision. After `time`, they have expired or their cards listen.
    package static func keep(
        channelsIn rows: String,
        of activityKey: Int64,
        forStartsWith revision: Revision,
        expiringAfter time: Duration
    ) -> Query {
        """
        UPDATE channels AS c
        SET starts_until = greatest(c.starts_until, greatest(clock_timestamp(), to_timestamp(a.stamp)) + \(time)),
            starts_from = least(c.starts_from, \(revision))
        FROM \(unescaped: rows), activities AS a
        WHERE c.channel_id = \(unescaped: rows).channel_id AND a.activity_key = \(activityKey)
        """
    }

    /// The statement that forgets the starts on a channel that had expired at a time.
    package static func forgetStarts(on channel: ChannelID, before time: PGTimestamp) -> Query {
        """
        UPDATE channels SET starts_until = NULL, starts_from = NULL
        WHERE channel_id = \(channel.rawValue)::uuid AND starts_until <= \(time)
        """
    }
}
