import APITypes
import ActivityModel
import Channels
import Postgres
import Store

/// The channel of an activity as the worker of its segment sees it.
struct BroadcastChannel: Sendable {
    let id: ChannelID
    let apnsID: APNSChannelID?
    let storage: ChannelStorage
    let state: ChannelState
    /// Subscribers that joined later than the newest broadcast. Cards that may have joined by a start whose time is
    /// over count as one.
    let behind: Int
    /// Whether too many cards are owed a broadcast to mark them in one statement.
    let isCrowded: Bool
    /// The database's clock when it was read.
    let readAt: PGTimestamp
    /// Whether it was made so long ago that all of Apple's hosts know it.
    let isSettled: Bool
    /// The stamp under which it last told an alert.
    let alertStamp: Timestamp?
    /// How long ago something was broadcast last; nil: never.
    let sincePush: Duration?
}

extension BroadcastChannel {
    /// The statement whose rows ``read(_:)`` reads. It has no row if an activity has no channel, or has lost it. More
    /// cards than a `crowd` are not counted.
    static func selection(_ activityKey: Int64, crowd: Int) -> Query {
        """
        SELECT c.channel_id::text, c.apns_channel_id, c.storage::text, c.state::text,
               owed.due_now + (SELECT count(*) FROM segments AS g
                  WHERE g.activity_key = c.activity_key AND g.segment = \(SegmentRows.channelSegment)
                    AND c.starts_until <= now() AND c.starts_from < g.completed_revision),
               owed.due > \(crowd),
               clock_timestamp(),
               coalesce(c.ready_at < clock_timestamp() - \(Channels.settlingTime), false),
               (SELECT g.alert_stamp FROM segments AS g
                WHERE g.activity_key = c.activity_key AND g.segment = \(SegmentRows.channelSegment)),
               (SELECT clock_timestamp() - g.pushed_at FROM segments AS g
                WHERE g.activity_key = c.activity_key AND g.segment = \(SegmentRows.channelSegment))
        FROM channels AS c CROSS JOIN LATERAL (
            SELECT count(*) AS due, count(*) FILTER (WHERE s.due_at <= now()) AS due_now
            FROM (
                SELECT due_at FROM subscriptions
                WHERE activity_key = c.activity_key AND mode = 'channel' AND state = 'due'
                ORDER BY due_at LIMIT \(crowd + 1)
            ) AS s
        ) AS owed
        WHERE c.activity_key = \(activityKey) AND c.lost_at IS NULL
        """
    }

    static func read(_ rows: Rows) throws -> BroadcastChannel? {
        for (id, apnsID, storage, state, behind, isCrowded, readAt, isSettled, alertStamp, sincePush)
            in try rows.decoded(
                as: (String, String?, String, String, Int64, Bool, PGTimestamp, Bool, Int64?, Duration?).self
            )
        {
            return BroadcastChannel(
                id: ChannelID(stored: id),
                apnsID: apnsID.map(APNSChannelID.init(stored:)),
                storage: try .stored(storage),
                state: try .stored(state),
                behind: Int(behind),
                isCrowded: isCrowded,
                readAt: readAt,
                isSettled: isSettled,
                alertStamp: alertStamp,
                sincePush: sincePush
            )
        }
        return nil
    }
}
