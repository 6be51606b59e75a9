package import ActivityModel
package import Postgres
package import Store

/// Cards of a ring that have not begun, and wait by policy (`pending_updates`), when their activity has ended. They are
/// given rows of their own, so that each is sent the end and none of them comes up later.
package struct PendingCards: Sendable {
    let activityKey: Int64
    /// The newest revision of the activity.
    let newest: Revision
    /// The device keys of the ring.
    let range: RingRange
    /// Cards that are released at once: reports of their devices wait as long.
    let pageSize: Int

    package init(activityKey: Int64, newest: Revision, range: RingRange, pageSize: Int) {
        self.activityKey = activityKey
        self.newest = newest
        self.range = range
        self.pageSize = pageSize
    }

    /// An SQL condition: some card of the ring `s` waits to begin.
    ///
    /// The bounds and the order name all columns of one index, as in ``CatchUpTurn``. No other index has that order, so
    /// the server cannot go through the other cards of the ring.
    package static let exist = """
        coalesce((
            SELECT true FROM subscriptions AS d
            WHERE (d.activity_key, d.mode, d.device_key) > (s.activity_key, 'token', s.after_key)
              AND (d.activity_key, d.mode, d.device_key) <= (s.activity_key, 'token', s.through_key)
              AND \(CardStanding.waitsToBegin("d"))
            ORDER BY d.activity_key, d.mode, d.device_key LIMIT 1
        ), false)
        """

    /// Releases a page of them. They have heard all alerts: nobody looks at a card that is not shown.
    package func release(in database: Database) async throws {
        // Reports lock cards in an order of their own.
        try await database.withYieldingTransaction { connection in
            _ = try await connection.commit([.planningOnce, self.page])
        }
    }

    private var page: Query {
        """
        WITH waiting AS MATERIALIZED (
            SELECT activity_key, device_key FROM subscriptions
            WHERE activity_key = \(activityKey) AND device_key = ANY(ARRAY(
                SELECT device_key FROM subscriptions AS s
                WHERE (activity_key, mode, device_key) > (\(activityKey), 'token', \(range.after))
                  AND (activity_key, mode, device_key) <= (\(activityKey), 'token', \(range.through))
                  AND \(unescaped: CardStanding.waitsToBegin("s"))
                ORDER BY activity_key, mode, device_key LIMIT \(pageSize)
            ))
            ORDER BY device_key FOR NO KEY UPDATE
        )
        UPDATE subscriptions AS s
        SET state = 'due', due_at = clock_timestamp(), failures = 0, reason = NULL,
            heard_revision = greatest(s.heard_revision, \(newest))
        FROM waiting AS w
        WHERE \(unescaped: Query.byKey("s", "w", "activity_key", "device_key"))
          AND \(unescaped: CardStanding.waitsToBegin("s"))
        """
    }
}
