import APITypes
package import ActivityModel
package import Postgres
import Store

extension SubscriptionRows {
    /// The statement for an accepted broadcast. Cards that reported before the channel was read for it have it now.
    /// Cards that reported later, or at that very moment, are still owed one. It marks at most `limit` cards.
    package static func caughtUp(
        _ revision: Revision,
        of activityKey: Int64,
        before readAt: PGTimestamp,
        limit: Int
    ) -> Query {
        settled(.riding, knowing: revision, before: readAt, activityKey, limit: limit)
    }

    /// The statement for a channel that is gone, so its cards get no more updates. It gives up at most `limit` cards.
    package static func abandonment(ofListenersTo activityKey: Int64, limit: Int) -> Query {
        settled(.over, because: .channelDeleted, activityKey, limit: limit)
    }

    /// The statement that moves a `limit` of the cards that are owed a broadcast to another state. Cards are locked in
    /// the order in which everybody locks them (``CardKey``).
    ///
    /// A `reason` of nil stays as it is. The given `revision` is what the cards know now, or nil if they know no more
    /// than before. A given `readAt` selects only cards that were reported before then.
    private static func settled(
        _ state: SubscriptionState,
        because reason: OverReason? = nil,
        knowing revision: Revision? = nil,
        before readAt: PGTimestamp? = nil,
        _ activityKey: Int64,
        limit: Int
    ) -> Query {
        """
        WITH owed AS MATERIALIZED (
            SELECT device_key FROM subscriptions AS s
            WHERE activity_key = \(activityKey) AND \(unescaped: CardStanding.isOwedBroadcast("s"))
              AND (\(readAt)::timestamptz IS NULL OR registered_at < \(readAt))
            ORDER BY due_at LIMIT \(limit)
        ), held AS MATERIALIZED (
            SELECT device_key FROM subscriptions AS s
            WHERE activity_key = \(activityKey) AND device_key = ANY (ARRAY(SELECT device_key FROM owed))
              AND \(unescaped: CardStanding.isOwedBroadcast("s"))
              AND (\(readAt)::timestamptz IS NULL OR registered_at < \(readAt))
            ORDER BY device_key FOR NO KEY UPDATE
        )
        UPDATE subscriptions AS s
        SET state = \(state.storedWord)::subscription_state, due_at = NULL, reason = coalesce(\(reason?.rawValue), s.reason),
            known_revision = greatest(s.known_revision, \(revision)::bigint)
        FROM held WHERE s.activity_key = \(activityKey) AND s.device_key = held.device_key
        """
    }
}
