package import ActivityModel
package import Postgres
package import Store

// Cards of a device that changes.
extension SubscriptionRows {
    /// The statement that ends the cards of a device in other environments than its own.
    package static func over(deviceKey: Int64, besides environment: APNSEnvironment) -> Query {
        """
        UPDATE subscriptions AS s
        SET state = 'over', due_at = NULL, known_revision = \(unescaped: SegmentRows.sentToCard),
            reason = '\(unescaped: OverReason.environmentChanged.rawValue)'
        FROM activities AS a
        WHERE s.device_key = \(deviceKey) AND s.state <> 'over' AND a.activity_key = s.activity_key
          AND a.environment <> \(environment.rawValue)::apns_environment
        """
    }

    /// The statement that resets the generations of the cards of a device, so that they count from the beginning.
    package static func resetGenerations(deviceKey: Int64) -> Query {
        "UPDATE subscriptions SET generation = 0 WHERE device_key = \(deviceKey) AND generation > 0"
    }

    /// The statement that gives the cards of a device the budget class that it reports.
    package static func change(frequent: Bool, ofDevice deviceKey: Int64) -> Query {
        """
        UPDATE subscriptions SET frequent = \(frequent)
        WHERE device_key = \(deviceKey) AND frequent <> \(frequent) AND state <> 'over'
        """
    }

    /// The statement for cards whose update tokens were reported. The older card with a token is over: one token belongs
    /// to one device (promise 7), within an app and an environment.
    ///
    /// Run it after the commit of the report. If two reports commit at the same time, the later one sees both rows. Both
    /// apply the same rule.
    package static func giveUpTokens(of cards: [CardKey]) -> Query {
        """
        WITH older AS MATERIALIZED (
            SELECT CASE WHEN v.is_older THEN o.activity_key ELSE k.activity_key END AS activity_key,
                   CASE WHEN v.is_older THEN o.device_key ELSE k.device_key END AS device_key, k.update_token
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            -- By the key alone, and by the token alone: each is one look at an index.
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions AS s
                WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key OFFSET 0
            ) AS k
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions AS s WHERE s.update_token = k.update_token OFFSET 0
            ) AS o
            CROSS JOIN LATERAL (
                SELECT bundle_id, environment FROM activities WHERE activity_key = k.activity_key OFFSET 0
            ) AS a
            CROSS JOIN LATERAL (
                SELECT bundle_id, environment FROM activities WHERE activity_key = o.activity_key OFFSET 0
            ) AS b
            CROSS JOIN LATERAL (
                SELECT (o.registered_at, o.device_key) < (k.registered_at, k.device_key) AS is_older
            ) AS v
            WHERE o.device_key <> k.device_key AND k.state <> 'over' AND o.state <> 'over'
              AND b.bundle_id = a.bundle_id AND b.environment = a.environment
        ), held AS MATERIALIZED (
            SELECT s.activity_key, s.device_key FROM subscriptions AS s JOIN older AS o
                ON s.activity_key = o.activity_key AND s.device_key = o.device_key AND s.update_token = o.update_token
            WHERE s.activity_key = ANY (ARRAY(SELECT activity_key FROM older))
              AND s.device_key = ANY (ARRAY(SELECT device_key FROM older))
            ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
        )
        UPDATE subscriptions AS s
        SET state = 'over', reason = '\(unescaped: OverReason.tokenMoved.rawValue)', update_token = NULL, due_at = NULL,
            check_at = NULL, leaving = false, known_revision = \(unescaped: SegmentRows.sentToCard)
        FROM held AS h WHERE s.activity_key = h.activity_key AND s.device_key = h.device_key
          AND s.activity_key = ANY (ARRAY(SELECT activity_key FROM held))
          AND s.device_key = ANY (ARRAY(SELECT device_key FROM held))
        """
    }
}
