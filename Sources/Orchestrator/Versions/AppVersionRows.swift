import ActivityModel
import Postgres
import Store

/// The rows of `activity_app_versions`: which app versions follow an activity, and whether the newest state may go to
/// them.
enum AppVersionRows {
    /// The reason of a card, or a start, that is withheld because its app could not decode what would be sent.
    static let reason = StartStateMachine.Reason.incompatibleVersion.rawValue

    /// One row to be made.
    struct New: Sendable {
        let activityKey: Int64
        let appVersion: String
        let isWithheld: Bool
        /// The revision that was judged.
        let revision: Revision
    }

    /// The version of the app on the device `d`, as these rows know it.
    static let appVersion = "coalesce(d.app_version, '')"

    /// The statement that reads what follows activities; under their locks, where something is decided by it.
    static func selection(_ activityKeys: [Int64]) -> Query {
        """
        SELECT activity_key, app_version, is_withheld FROM activity_app_versions WHERE activity_key = ANY(\(activityKeys))
        """
    }

    /// The statement that makes rows for app versions which are met for the first time.
    static func insertion(_ rows: [New]) -> Query {
        """
        INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
        SELECT * FROM unnest(
            \(rows.map(\.activityKey)), \(rows.map(\.appVersion)), \(rows.map(\.isWithheld)), \(rows.map(\.revision))
        )
        ON CONFLICT (activity_key, app_version) DO NOTHING
        """
    }

    /// The statement that counts the rows of activities that have rows.
    static func counts(_ activityKeys: [Int64]) -> Query {
        """
        SELECT activity_key, count(*) FROM activity_app_versions
        WHERE activity_key = ANY(\(activityKeys)) GROUP BY activity_key
        """
    }

    /// The statement that locks the rows of activities whose app version no device has, except rows that somebody else
    /// holds.
    static func onNoDevice(_ activityKeys: [Int64]) -> Query {
        """
        SELECT v.activity_key, v.app_version FROM activity_app_versions AS v JOIN activities AS a USING (activity_key)
        WHERE v.activity_key = ANY(\(activityKeys)) AND \(unescaped: isOnNoDevice) FOR UPDATE OF v SKIP LOCKED
        """
    }

    /// The statement that deletes these of them which no device has got meanwhile. A device that gets such a version
    /// later is the first with it.
    static func deletion(of rows: [(activityKey: Int64, appVersion: String)]) -> Query {
        """
        DELETE FROM activity_app_versions AS v
        USING unnest(\(rows.map(\.activityKey)), \(rows.map(\.appVersion))) AS r(activity_key, app_version), activities AS a
        WHERE v.activity_key = r.activity_key AND v.app_version = r.app_version AND a.activity_key = v.activity_key
          AND \(unescaped: isOnNoDevice)
        """
    }

    /// The condition that nobody in the environment of the activity `a` has the app version of the row `v`.
    private static let isOnNoDevice = """
        (v.app_version <> '' AND NOT EXISTS (
            SELECT FROM devices AS d
            WHERE d.bundle_id = a.bundle_id AND d.environment = a.environment AND d.app_version = v.app_version OFFSET 0
        ))
        """

    /// The statement that changes whether states go to app versions. The cards follow when a worker has settled that.
    static func change(_ rows: [New]) -> Query {
        """
        UPDATE activity_app_versions AS v
        SET is_withheld = r.is_withheld, is_settled = false, settled_rings = '{}',
            decodes_from = CASE WHEN r.is_withheld THEN v.decodes_from ELSE r.revision END
        FROM unnest(
            \(rows.map(\.activityKey)), \(rows.map(\.appVersion)), \(rows.map(\.isWithheld)), \(rows.map(\.revision))
        ) AS r(activity_key, app_version, is_withheld, revision)
        WHERE v.activity_key = r.activity_key AND v.app_version = r.app_version
        """
    }

    /// The statement that looks for a follower on one page of the devices with an app version. Its row says whether the
    /// audience is still open, how many devices the page has, and the last of them and the first follower, by key.
    static func page(of follower: Follower, after deviceKey: Int64, limit: Int) -> Query {
        """
        SELECT a.state = 'scheduled' OR a.enrolment_due, page.devices, page.last, page.follower
        FROM (SELECT \(follower.activityKey)::int8 AS activity_key, \(follower.appVersion)::text AS app_version) AS r
        JOIN activities AS a USING (activity_key)
        CROSS JOIN LATERAL (
            SELECT count(*) AS devices, max(d.device_key) AS last,
                   min(d.device_key) FILTER (WHERE \(unescaped: follows)) AS follower
            FROM (\(unescaped: devices(after: deviceKey, limit: limit))) AS d
        ) AS page
        """
    }

    /// The condition that the device `d` has a card of the activity `a`, or is being started.
    private static let follows = """
        (EXISTS (
            SELECT FROM subscriptions AS s
            WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
              AND s.mode = 'token' AND s.state IN ('waiting_for_token', 'riding', 'due', 'rejected', 'withheld') OFFSET 0
        ) OR EXISTS (
            SELECT FROM starts AS s
            WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
              AND (s.state IN ('pending', 'claimed', 'unknown')
                  OR (s.state = 'withheld' AND s.reason = '\(reason)')) OFFSET 0
        ))
        """

    /// A page of the devices that the activity `a` may have, with the app version of the row `r`, by key.
    private static func devices(after deviceKey: Int64, limit: Int) -> String {
        // Two selections, because one condition for both would read the devices of all versions.
        ["d.app_version = r.app_version", "r.app_version = '' AND d.app_version IS NULL"].map { condition in
            """
            (SELECT d.device_key FROM devices AS d
             WHERE d.bundle_id = a.bundle_id AND d.environment = a.environment AND \(condition)
               AND d.device_key > \(deviceKey)
             ORDER BY d.device_key LIMIT \(limit))
            """
        }.joined(separator: " UNION ALL ")
    }

    /// The statement that says for which cards there is a row of the device's app version; there need not be a card
    /// yet.
    static func known(_ cards: [CardKey]) -> Query { selection(of: cards, "") }

    /// The same; the rows are held until the transaction ends.
    static func hold(_ cards: [CardKey]) -> Query {
        selection(of: cards, "ORDER BY v.activity_key, v.app_version FOR SHARE OF v")
    }

    private static func selection(of cards: [CardKey], _ end: String) -> Query {
        """
        SELECT v.activity_key, d.device_key
        FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
        JOIN devices AS d ON \(unescaped: Query.byKey("d", "r", "device_key"))
        JOIN activity_app_versions AS v
            ON v.activity_key = r.activity_key AND v.app_version = \(unescaped: appVersion)
        \(unescaped: end)
        """
    }

    /// The cards that the rows of ``known(_:)`` or ``hold(_:)`` tell of.
    static func cards(_ rows: Rows) throws -> Set<CardKey> {
        Set(try rows.decoded(as: (Int64, Int64).self).map { CardKey(activityKey: $0, deviceKey: $1) })
    }

    // MARK: The cards

    /// The statement that brings cards in line with the rows of their devices' app versions.
    static func alignment(_ cards: [CardKey]) -> Query {
        """
        WITH cards AS MATERIALIZED (
            \(unescaped: cardsOutOfLine) AND (s.activity_key, s.device_key) IN (
                SELECT * FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey)))
            )
        )
        \(unescaped: alignmentOfCards)
        """
    }

    /// The statement that brings a page of the cards of a ring in line with the rows that are not settled for it. Its
    /// row says which card was the last of the page, by device key, and how many the page has.
    static func alignment(unsettledOf ring: SegmentLease, _ page: RingRange, limit: Int) -> Query {
        """
        WITH stretch AS MATERIALIZED (
            SELECT device_key FROM subscriptions
            WHERE activity_key = \(ring.activityKey) AND device_key > \(page.after) AND device_key <= \(page.through)
            ORDER BY device_key LIMIT \(limit)
        ), cards AS MATERIALIZED (
            \(unescaped: cardsOutOfLine) AND v.activity_key = \(ring.activityKey) AND NOT v.is_settled
              AND \(ring.segment) <> ALL (v.settled_rings) AND s.device_key = ANY (ARRAY(SELECT device_key FROM stretch))
        ), aligned AS (
            \(unescaped: alignmentOfCards)
        )
        SELECT max(device_key), count(*) FROM stretch
        """
    }

    /// An end needs no state, so it is withheld from nobody: from no card when the activity has ended, nor from one
    /// that the backend ends.
    private static let cardsOutOfLine = """
        SELECT s.activity_key, s.device_key, c.is_withheld, c.decodes_from
        FROM activity_app_versions AS v
        JOIN subscriptions AS s ON s.activity_key = v.activity_key
        JOIN devices AS d ON d.device_key = s.device_key AND v.app_version = \(appVersion)
        JOIN activities AS a ON a.activity_key = v.activity_key
        CROSS JOIN LATERAL (
            SELECT v.is_withheld AND a.state <> 'ended' AND NOT s.leaving AS is_withheld,
                   CASE WHEN v.is_withheld THEN a.revision ELSE v.decodes_from END AS decodes_from
        ) AS c
        WHERE s.mode = 'token' AND CASE
            WHEN c.is_withheld THEN s.state IN ('riding', 'due', 'rejected')
            WHEN s.state = 'withheld' THEN s.reason = '\(reason)'
            WHEN s.state = 'riding' THEN \(SegmentRows.sentOnRing) < c.decodes_from
            ELSE false END
        """

    /// A card is withheld if its app cannot decode the newest state. When the app can, the card is served by its own
    /// row until it is up to date. A card whose token was rejected and not reported since stays rejected. A card that
    /// was withheld is owed no alert from that time. All other cards have heard what they had heard before. A push with
    /// an alert may be on its way, and the same stamp must not leave without the alert (promise 3).
    private static let alignmentOfCards = """
        UPDATE subscriptions AS s
        SET state = (CASE WHEN c.is_withheld THEN 'withheld' WHEN \(isRejected) THEN 'rejected' ELSE 'due' END)::subscription_state,
            reason = CASE WHEN c.is_withheld THEN '\(reason)' WHEN s.state = 'rejected' THEN s.reason END,
            due_at = CASE WHEN NOT c.is_withheld AND NOT \(isRejected) THEN coalesce(s.due_at, clock_timestamp()) END,
            known_revision = CASE s.state WHEN 'riding' THEN \(SegmentRows.sentOnRing) ELSE s.known_revision END,
            heard_revision = greatest(
                CASE s.state WHEN 'riding' THEN \(SegmentRows.heardOnRing) ELSE s.heard_revision END,
                CASE WHEN s.state = 'withheld' AND NOT c.is_withheld THEN c.decodes_from - 1 END
            )
        FROM cards AS c WHERE s.activity_key = c.activity_key AND s.device_key = c.device_key
        RETURNING 1
        """

    /// Whether the token of the card `s` is rejected: being withheld does not make it good.
    static let isRejected = """
        (s.state = 'rejected' OR (s.state = 'withheld' AND coalesce(s.rejected_at >= s.registered_at, false)))
        """

    /// The statement that tries withheld starts again: apps can decode the newest state now. It looks at a number of
    /// starts behind a device. It says which device was the last, and how many starts were looked at.
    static func startsAgain(unsettledOf activityKey: Int64, after deviceKey: Int64, limit: Int) -> Query {
        """
        WITH stretch AS MATERIALIZED (
            SELECT device_key, state, reason FROM starts
            WHERE activity_key = \(activityKey) AND device_key > \(deviceKey) ORDER BY device_key LIMIT \(limit)
        ), withheld AS MATERIALIZED (
            SELECT s.device_key FROM stretch AS r
            JOIN devices AS d ON d.device_key = r.device_key
            JOIN activity_app_versions AS v
                ON v.activity_key = \(activityKey) AND v.app_version = \(unescaped: appVersion)
            JOIN starts AS s ON s.activity_key = v.activity_key AND s.device_key = r.device_key
            WHERE r.state = 'withheld' AND r.reason = '\(unescaped: reason)' AND NOT v.is_settled AND NOT v.is_withheld
            ORDER BY s.device_key FOR NO KEY UPDATE OF s
        ), again AS (
            UPDATE starts AS s SET state = 'pending', due_at = clock_timestamp(), failures = 0, reason = NULL
            FROM withheld AS w
            WHERE s.activity_key = \(activityKey) AND s.device_key = w.device_key
              AND s.state = 'withheld' AND s.reason = '\(unescaped: reason)'
        )
        SELECT max(device_key), count(*) FROM stretch
        """
    }
}
