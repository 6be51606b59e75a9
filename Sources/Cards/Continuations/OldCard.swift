package import ActivityModel
package import Postgres
package import Store

/// A card that a new card has taken the place of, and that is to be ended by its update token.
package struct OldCard: Sendable {
    package let activityKey: Int64
    package let deviceKey: Int64
    let activityKitID: String
    package let token: PushToken
    /// Tries in a row that failed.
    package let failures: Int

    package var key: CardKey { CardKey(activityKey: activityKey, deviceKey: deviceKey) }
}

extension OldCard {
    /// The statement that claims old cards that are due, at most `limit`, each for the time of `lease`. ``init(_:)``
    /// reads its rows. They also have the columns `bundle_id`, `environment`, `activity_id` and `stamp` of the activity.
    package static func claim(limit: Int, for lease: Duration) -> Query {
        """
        WITH due AS MATERIALIZED (
            SELECT activity_key, device_key, activitykit_id FROM continuations
            WHERE due_at <= now() ORDER BY due_at LIMIT \(limit) FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE continuations AS k SET due_at = clock_timestamp() + \(lease)
        FROM due JOIN activities AS a USING (activity_key)
        WHERE k.activity_key = due.activity_key AND k.device_key = due.device_key
          AND k.activitykit_id = due.activitykit_id
        RETURNING k.activity_key, a.bundle_id, a.environment::text, a.activity_id, a.stamp, k.device_key,
            k.activitykit_id, k.update_token, k.failures
        """
    }

    /// A CHECK keeps the token's length within the bounds that make this nil.
    package init?(_ row: Row) throws {
        guard let token = PushToken(bytes: try row["update_token"]) else { return nil }
        self.token = token
        activityKey = try row["activity_key"]
        deviceKey = try row["device_key"]
        activityKitID = try row["activitykit_id"]
        failures = try row["failures"]
    }

    /// The statement for cards that need no other end. A token that was reported meanwhile is still to be sent the end.
    package static func ended(_ cards: [OldCard]) -> Query {
        """
        UPDATE continuations AS k SET due_at = NULL, update_token = NULL
        FROM unnest(
            \(cards.map(\.activityKey)), \(cards.map(\.deviceKey)), \(cards.map(\.activityKitID)),
            \(cards.map(\.token.bytes))
        ) AS r(activity_key, device_key, activitykit_id, update_token)
        WHERE \(unescaped: Query.byKey("k", "r", "activity_key", "device_key"))
          AND k.activitykit_id = r.activitykit_id AND k.update_token = r.update_token
        """
    }

    /// The statement that has the end sent to cards once more, each after its delay, unless the card's 8 hours are over.
    package static func again(_ cards: [OldCard], _ delays: [Duration]) -> Query {
        """
        UPDATE continuations AS k
        SET due_at = CASE WHEN k.started_at > v.last THEN clock_timestamp() + r.delay END,
            update_token = CASE WHEN k.started_at > v.last THEN k.update_token END,
            failures = least(k.failures + 1, 1000)
        FROM unnest(
            \(cards.map(\.activityKey)), \(cards.map(\.deviceKey)), \(cards.map(\.activityKitID)), \(delays)
        ) AS r(activity_key, device_key, activitykit_id, delay)
        CROSS JOIN (SELECT clock_timestamp() - \(Duration.seconds(CardWatch.lifetimeSeconds)) AS last) AS v
        WHERE \(unescaped: Query.byKey("k", "r", "activity_key", "device_key"))
          AND k.activitykit_id = r.activitykit_id
        """
    }
}
