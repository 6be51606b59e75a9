package import Postgres
import Store

extension SubscriptionRows {
    /// The statement that bounds the next page of the cards that ride on a ring, for ``KeyPages``.
    package static func boundOfRiders(
        of activityKey: Int64,
        after: Int64,
        through: Int64,
        limit: Int
    ) -> Query {
        """
        SELECT max(device_key), count(*) FROM (
            SELECT device_key FROM subscriptions AS s
            WHERE activity_key = \(activityKey) AND \(unescaped: CardStanding.rides("s"))
              AND device_key > \(after) AND device_key <= \(through)
            ORDER BY device_key LIMIT \(limit)
        ) AS page
        """
    }
}
