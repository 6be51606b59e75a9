import ActivityModel
package import Postgres
package import Store

/// Hands cards of long activities over to new cards (policy `continue_after_hours`): iOS ends each card after eight
/// hours.
///
/// The row of `continuations` is written and the start of the device is made due again in one transaction, before
/// anything leaves. From there on it is a start like every other (``StartTurn``). When the phone reports the new card, that
/// card gets the row in `subscriptions`, and the old one is ended (``OldCards``). Until then the old card gets all
/// changes: APNs accepts starts that no phone shows, for instance while the phone is off. A new card on a channel need
/// not be reported: it gets the row when APNs has accepted its start.
package enum Continuations {
    /// The time until another try, at first, if the old card still exists.
    package static let shortestPause = Duration.seconds(300)
    private static let longestPause = Duration.seconds(1_800)

    /// Before the start leaves, the old card is sent the newest state: APNs may say that the card is gone.
    static let asking = Duration.seconds(10)

    /// The least time from the report of a card to its hand-over. If another card comes within 30 minutes, TallyKit
    /// takes it for the repeat of the card's start, and ends it.
    package static let rest = Duration.seconds(2_700)

    /// The pause before it is tried again with a card that has been old enough for so many microseconds. It grows with that
    /// time: what stood in the way for long is likely to go on.
    package static func pause(after waited: Int64) -> Duration {
        min(max(shortestPause, .microseconds(waited / 2)), longestPause)
    }

    // MARK: Conditions

    /// The condition that a new card can continue the card: the old one can be ended by its token, and ActivityKit's id
    /// tells reports of the two apart.
    static func canBegin(_ card: String) -> String {
        "(\(card).state IN ('riding', 'due') AND \(mayBegin(card)))"
    }

    /// The condition that a new card can continue the card now or later: it may be withheld for a while, or wait until
    /// its token is revived.
    static func mayBegin(_ card: String) -> String {
        """
        (\(CardStanding.takesStates(card)) AND NOT \(card).leaving
         AND \(card).activitykit_id IS NOT NULL AND \(card).pending_since IS NULL)
        """
    }

    /// The condition that a start continues the card: that was begun, and the card is certainly not gone. APNs accepted
    /// what it was sent, so it is back on its ring.
    package static func isBegun(_ card: String) -> String {
        """
        (\(CardStanding.rides(card)) AND NOT \(card).leaving AND EXISTS (
            SELECT FROM continuations AS k
            WHERE k.activity_key = \(card).activity_key AND k.device_key = \(card).device_key
              AND k.activitykit_id = \(card).activitykit_id AND NOT k.handed_over OFFSET 0))
        """
    }

    /// The condition that a report `r` is of a card that a new one continues, or is to continue.
    package static let isOfOldCard = """
        EXISTS (SELECT FROM continuations AS k
                WHERE k.activity_key = r.activity_key AND k.device_key = r.device_key
                  AND k.activitykit_id = r.activitykit_id OFFSET 0)
        """

    /// The condition that a report `r` is of a card whose row another card has now.
    package static let isOfPastCard = """
        EXISTS (SELECT FROM continuations AS k
                WHERE k.activity_key = r.activity_key AND k.device_key = r.device_key
                  AND k.activitykit_id = r.activitykit_id AND k.handed_over OFFSET 0)
        """

    /// The condition that the card of the activity `a` on a device, whose row is being made, continues one that had to
    /// leave.
    package static func isLeaving(_ deviceKey: String) -> String {
        """
        EXISTS (SELECT FROM continuations AS k
                WHERE k.activity_key = a.activity_key AND k.device_key = \(deviceKey)
                  AND k.leaving AND k.due_at IS NOT NULL OFFSET 0)
        """
    }

    // MARK: Statements

    /// Makes the starts due that continue these cards. It is no harm to do it again: a start that is under way, or has
    /// left, stays as it is. One that could not leave is tried again.
    ///
    /// - Returns: Whether a start is due now, so that the caller tells the workers.
    package static func begin(_ cards: [CardKey], in database: Database) async throws -> Bool {
        guard !cards.isEmpty else { return false }
        let cards = cards.sorted()
        return try await database.withYieldingTransaction { connection -> Bool in
            // Devices first, as deletions do: the new rows refer to them.
            let devices: Query = """
                SELECT FROM devices WHERE device_key = ANY(\(cards.map(\.deviceKey))) ORDER BY device_key FOR KEY SHARE
                """
            let rows = try await connection.pipeline([.planningOnce, devices, beginning(cards)])[2]
            let begun = try rows.decoded(as: (Int64, Int64).self).map { CardKey(activityKey: $0, deviceKey: $1) }
            guard !begun.isEmpty else { return false }
            _ = try await connection.commit(
                CardKey.hold(begun) + [question(begun), SegmentRows.announce(cards: begun)]
            )
            return true
        }
    }

    /// The starts are locked before the cards, as everybody does. Only devices of the audience with a start token are
    /// started, and nothing is begun while sending is halted.
    private static func beginning(_ cards: [CardKey]) -> Query {
        """
        WITH cards AS MATERIALIZED (
            SELECT s.activity_key, s.device_key, s.activitykit_id, s.started_at
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            JOIN subscriptions AS s ON \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
            JOIN activities AS a ON \(unescaped: Query.byKey("a", "s", "activity_key"))
            JOIN devices AS d ON \(unescaped: Query.byKey("d", "s", "device_key"))
            WHERE a.state = 'live' AND \(unescaped: canBegin("s")) AND s.registered_at <= clock_timestamp() - \(rest)
              AND NOT \(unescaped: StandingHalt.isFor("a"))
              AND \(unescaped: StartTokenState.isLive(device: "s.device_key", type: "a.type_name"))
              AND \(unescaped: AudienceCoverage.condition)
        ), held AS MATERIALIZED (
            SELECT o.activity_key, o.device_key, o.state, o.attempts, o.due_at
            FROM cards AS c JOIN starts AS o ON \(unescaped: Query.byKey("o", "c", "activity_key", "device_key"))
            ORDER BY o.activity_key, o.device_key FOR NO KEY UPDATE OF o
        ), free AS MATERIALIZED (
            SELECT c.activity_key, c.device_key, c.activitykit_id, c.started_at, coalesce(h.attempts, 0::smallint) AS attempts
            FROM cards AS c LEFT JOIN held AS h ON h.activity_key = c.activity_key AND h.device_key = c.device_key
            WHERE h.state IS NULL OR (h.due_at IS NULL AND h.state NOT IN ('pending', 'claimed', 'unknown'))
        ), written AS (
            INSERT INTO continuations (activity_key, device_key, activitykit_id, started_at, attempts)
            SELECT activity_key, device_key, activitykit_id, started_at, attempts FROM free
            ON CONFLICT (activity_key, device_key, activitykit_id) DO NOTHING
            RETURNING activity_key, device_key
        ), pending AS (
            INSERT INTO starts AS o (activity_key, device_key, state, due_at)
            SELECT f.activity_key, f.device_key, 'pending', clock_timestamp() + \(asking)
            FROM free AS f LEFT JOIN written AS w ON w.activity_key = f.activity_key AND w.device_key = f.device_key
            -- One that was begun before, and has not left.
            WHERE w.activity_key IS NOT NULL OR f.attempts = 0
            ORDER BY f.activity_key, f.device_key
            ON CONFLICT (activity_key, device_key) DO UPDATE
            SET state = 'pending', attempts = 0, failures = 0, revision = NULL, due_at = EXCLUDED.due_at,
                renewed = false, reason = NULL
            RETURNING o.activity_key, o.device_key
        )
        SELECT activity_key, device_key FROM pending ORDER BY activity_key, device_key
        """
    }

    /// The statement that has the newest state sent to these cards once more. A card that is gone may be found out so. The
    /// cards are held (``CardKey/hold(_:)``).
    private static func question(_ cards: [CardKey]) -> Query {
        """
        UPDATE subscriptions AS s
        SET state = 'due', due_at = clock_timestamp(), confirmed_revision = 0,
            known_revision = \(unescaped: SegmentRows.sentOnRing),
            heard_revision = greatest(s.heard_revision, \(unescaped: SegmentRows.heardOnRing))
        FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
        WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
          -- `coalesce` makes it a mere filter. The server could read the whole index of cards that ride (`Query.byKey`).
          AND coalesce(\(unescaped: CardStanding.rides("s")), false)
        """
    }

    /// The statement that has the cards of registered devices looked at again, if they have been old enough for a while.
    /// There may be a start token now, or another version of iOS.
    ///
    /// It replaces the time that any look has set. It waits for looks that are under way, because they may not have seen
    /// the registration.
    package static func lookAgain(deviceKeys: [Int64]) -> Query {
        """
        WITH cards AS MATERIALIZED (
            SELECT s.activity_key, s.device_key
            FROM unnest(\(Set(deviceKeys).sorted())) AS r(device_key)
            -- No policy hands a younger card over. So the policies of few cards are read.
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions
                WHERE device_key = r.device_key AND started_at <= clock_timestamp() - interval '1 hour' OFFSET 0
            ) AS s
            JOIN activities AS a ON \(unescaped: Query.byKey("a", "s", "activity_key"))
            JOIN LATERAL (
                SELECT policy FROM activity_types WHERE bundle_id = a.bundle_id AND type_name = a.type_name OFFSET 0
            ) AS p ON true
            WHERE a.state = 'live' AND \(unescaped: mayBegin("s"))
              AND s.started_at <= clock_timestamp() - \(unescaped: StoredPolicy.continueAfter("p"))
        ), held AS MATERIALIZED (
            SELECT s.activity_key, s.device_key
            FROM cards AS c JOIN subscriptions AS s ON \(unescaped: Query.byKey("s", "c", "activity_key", "device_key"))
            ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
        )
        UPDATE subscriptions AS s SET check_at = clock_timestamp() FROM held AS r
        WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key")) AND \(unescaped: mayBegin("s"))
        """
    }

    /// The statement by which old cards give up their rows, because there are new ones. The caller makes the rows of
    /// the new cards next. It does not touch cards that nothing continues, or whose start has not left. A report of an
    /// old card hands nothing over: not that card, and not one that has continued it since.
    ///
    /// The devices are locked against reports (`NO KEY UPDATE`).
    package static func handOver(_ cards: [CardKey], to activityKitIDs: [String?]) -> Query {
        """
        WITH begun AS MATERIALIZED (
            SELECT k.activity_key, k.device_key, k.activitykit_id
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey)), \(activityKitIDs))
                AS r(activity_key, device_key, activitykit_id)
            CROSS JOIN LATERAL (
                SELECT * FROM continuations AS c
                WHERE c.activity_key = r.activity_key AND c.device_key = r.device_key AND NOT c.handed_over
                  AND NOT \(unescaped: isOfOldCard)
                  AND EXISTS (SELECT FROM starts AS o
                              WHERE o.activity_key = c.activity_key AND o.device_key = c.device_key AND o.attempts > 0 OFFSET 0)
                OFFSET 0
            ) AS k
        ), past AS (
            DELETE FROM subscriptions AS s USING begun AS k
            WHERE \(unescaped: Query.byKey("s", "k", "activity_key", "device_key"))
              AND s.activitykit_id = k.activitykit_id
            RETURNING s.activity_key, s.device_key, s.activitykit_id, s.leaving, s.generation,
                CASE WHEN s.state NOT IN ('over', 'dead') THEN s.update_token END AS update_token
        )
        UPDATE continuations AS k
        SET handed_over = true, leaving = coalesce(past.leaving, false), generation = coalesce(past.generation, 0),
            update_token = past.update_token,
            due_at = CASE WHEN past.update_token IS NOT NULL THEN clock_timestamp() END
        FROM begun LEFT JOIN past USING (activity_key, device_key, activitykit_id)
        WHERE k.activity_key = ANY(ARRAY[begun.activity_key]) AND k.device_key = ANY(ARRAY[begun.device_key])
          AND k.activitykit_id = begun.activitykit_id
        """
    }
}
