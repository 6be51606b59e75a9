package import APITypes
package import ActivityModel
import Channels
package import Postgres
import Store

/// The channel of an activity as the worker of its segment sees it.
package struct BroadcastChannel: Sendable {
    package let id: ChannelID
    package let apnsID: APNSChannelID?
    package let storage: ChannelStorage
    package let state: ChannelState
    /// Subscribers that joined later than the newest broadcast. Cards that may have joined by a start whose time is
    /// over count as one.
    package let behind: Int
    /// Whether too many cards are owed a broadcast to mark them in one statement.
    package let isCrowded: Bool
    /// The database's clock when it was read.
    package let readAt: PGTimestamp
    /// Whether it was made so long ago that all of Apple's hosts know it.
    package let isSettled: Bool
    /// The stamp under which it last told an alert.
    package let alertStamp: Timestamp?
    /// How long ago something was broadcast last; nil: never.
    package let sincePush: Duration?
}

extension BroadcastChannel {
    /// The statement whose rows ``read(_:)`` reads. It has no row if an activity has no channel, or has lost it. More
    /// cards than a `crowd` are not counted.
    static func selection(_ activityKey: Int64, crowd: Int) -> Query {
        """
        SELECT c.channel_id::text, c.apns_channel_id, c.storage::text, c.state::text,
               owed.due_now + (SELECT count(*) FROM segments AS g
                  WHERE g.activity_key = c.activity_key AND g.segment = \(SegmentRows.channelSegment)
                    AND c.starts_until <= now() AND c.starts_from < g.completed_revision) AS behind,
               owed.due > \(crowd) AS is_crowded,
               clock_timestamp() AS read_at,
               coalesce(c.ready_at < clock_timestamp() - \(Channels.settlingTime), false) AS is_settled,
               (SELECT g.alert_stamp FROM segments AS g
                WHERE g.activity_key = c.activity_key AND g.segment = \(SegmentRows.channelSegment)) AS alert_stamp,
               (SELECT clock_timestamp() - g.pushed_at FROM segments AS g
                WHERE g.activity_key = c.activity_key AND g.segment = \(SegmentRows.channelSegment)) AS since_push
        FROM channels AS c CROSS JOIN LATERAL (
            SELECT count(*) AS due, count(*) FILTER (WHERE s.due_at <= now()) AS due_now
            FROM (
                SELECT due_at FROM subscriptions AS o
                WHERE activity_key = c.activity_key AND \(unescaped: CardStanding.isOwedBroadcast("o"))
                ORDER BY due_at LIMIT \(crowd + 1)
            ) AS s
        ) AS owed
        WHERE c.activity_key = \(activityKey) AND \(unescaped: ChannelStanding.serves("c"))
        """
    }

    static func read(_ rows: Rows) throws -> BroadcastChannel? { try rows.first.map { try BroadcastChannel($0) } }

    private init(_ row: Row) throws {
        id = ChannelID(stored: try row["channel_id"])
        apnsID = try (row["apns_channel_id"] as String?).map(APNSChannelID.init(stored:))
        storage = try .stored(row["storage"])
        state = try .stored(row["state"])
        behind = try row["behind"]
        isCrowded = try row["is_crowded"]
        readAt = try row["read_at"]
        isSettled = try row["is_settled"]
        alertStamp = try row["alert_stamp"]
        sincePush = try row["since_push"]
    }
}
