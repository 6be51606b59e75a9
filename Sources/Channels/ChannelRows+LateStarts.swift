package import ActivityModel
package import Postgres

// Starts that have left while their cards do not listen to the channel yet.
extension ChannelRows {
    /// The part of a statement that notes, on the channels in the rows of a table, that starts of an activity are about
    /// to leave with a revision. After `time`, each start has expired or its card listens.
    package static func noteStarts(
        onChannelsIn rows: String,
        of activityKey: Int64,
        with revision: Revision,
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

    /// The statement that forgets the noted starts of a channel, if the last one had expired at `time`.
    package static func forgetStarts(on channel: ChannelID, before time: PGTimestamp) -> Query {
        """
        UPDATE channels SET starts_until = NULL, starts_from = NULL
        WHERE channel_id = \(channel.rawValue)::uuid AND starts_until <= \(time)
        """
    }
}
