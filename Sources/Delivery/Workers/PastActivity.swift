import Channels
import DeliveryStore
import Postgres
import Store

/// An activity that ended so long ago that no phone can show it any more. Gives up everything that is still owed to a
/// phone, so that no retry runs for ever.
struct PastActivity: Sendable {
    let room: DeliveryRoom
    let lease: SegmentLease
    let range: RingRange
    let activity: ActivitySnapshot

    /// Each ring gives up its own cards. The first ring or the channel gives up what exists once. One call takes a part
    /// of many rows.
    ///
    /// - Returns: Whether there may be more.
    func close() async throws -> Bool {
        // Reports lock cards in an order of their own.
        let count = try await room.database.withYieldingTransaction { connection in
            try await connection.commit([.planningOnce, self.cards])[1].count
        }
        guard lease.segment <= SegmentRows.firstRing else { return count > 0 }
        _ = try await room.database.pipeline([
            """
            UPDATE channels SET delete_at = clock_timestamp()
            WHERE activity_key = \(activity.key) AND state = 'ready' AND delete_at IS NULL
            """,
            ChannelRows.withdrawal(of: activity.key),
        ])
        let abandonment = StartAbandonment(database: room.database, activityKey: activity.key)
        let isMore = try await abandonment.run()
        return isMore || count > 0
    }

    /// Cards given up at once.
    private static let atOnce = 2_000

    private var cards: Query {
        """
        WITH due AS MATERIALIZED (
            SELECT device_key FROM subscriptions
            WHERE activity_key = \(activity.key) AND device_key = ANY(ARRAY(
                SELECT device_key FROM subscriptions
                WHERE activity_key = \(activity.key) AND state = 'due'
                  AND device_key > \(range.after) AND device_key <= \(range.through) LIMIT \(Self.atOnce)
            ))
            ORDER BY device_key FOR NO KEY UPDATE
        )
        UPDATE subscriptions AS s SET state = 'over', due_at = NULL,
            reason = coalesce(s.reason, '\(unescaped: OverReason.expired.rawValue)')
        FROM due WHERE s.activity_key = \(activity.key) AND s.device_key = due.device_key AND s.state = 'due'
        RETURNING 1
        """
    }
}
