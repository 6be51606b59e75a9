package import Postgres
import Store

extension SubscriptionRows {
    /// The statement that gives up cards that still wait for a push, at most `limit`, when no phone can show the
    /// activity any more. It takes the cards of one ring: the device keys behind `start`, up to `end`. It returns a row
    /// for each.
    package static func abandonment(
        ofPast activityKey: Int64,
        behind start: Int64,
        through end: Int64,
        limit: Int
    ) -> Query {
        """
        WITH due AS MATERIALIZED (
            SELECT device_key FROM subscriptions
            WHERE activity_key = \(activityKey) AND device_key = ANY(ARRAY(
                SELECT device_key FROM subscriptions
                WHERE activity_key = \(activityKey) AND state = 'due'
                  AND device_key > \(start) AND device_key <= \(end) LIMIT \(limit)
            ))
            ORDER BY device_key FOR NO KEY UPDATE
        )
        UPDATE subscriptions AS s SET state = 'over', due_at = NULL,
            reason = coalesce(s.reason, '\(unescaped: OverReason.expired.rawValue)')
        FROM due WHERE s.activity_key = \(activityKey) AND s.device_key = due.device_key AND s.state = 'due'
        RETURNING 1
        """
    }
}
