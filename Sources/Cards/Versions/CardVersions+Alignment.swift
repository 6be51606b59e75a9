package import Postgres
package import Store

// The cards and starts that follow the rows.
extension CardVersions {
    /// The statement that brings cards in line with the rows of their devices' app versions.
    package static func alignment(_ cards: [CardKey]) -> Query {
        """
        WITH given AS MATERIALIZED (
            SELECT * FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
        ), cards AS MATERIALIZED (
            \(unescaped: outOfLine(among: "given"))
        )
        \(unescaped: alignmentOfCards)
        """
    }

    /// The statement that brings a page of the cards of a ring in line with the rows that are not settled for it. Its
    /// row says which card was the last of the page, by device key, and how many the page has.
    package static func alignment(
        unsettledOf activityKey: Int64,
        ring: Int16,
        after deviceKey: Int64,
        through lastKey: Int64,
        limit: Int
    ) -> Query {
        """
        WITH stretch AS MATERIALIZED (
            SELECT activity_key, device_key FROM subscriptions
            WHERE activity_key = \(activityKey) AND device_key > \(deviceKey) AND device_key <= \(lastKey)
            ORDER BY device_key LIMIT \(limit)
        ), cards AS MATERIALIZED (
            \(unescaped: outOfLine(among: "stretch")) AND \(part: isUnsettled("v", on: ring))
        ), aligned AS (
            \(unescaped: alignmentOfCards)
        )
        SELECT max(device_key), count(*) FROM stretch
        """
    }

    /// Selects, among the cards in a table, those that do not fit the rows of their devices' app versions.
    ///
    /// An end needs no state, so it is withheld from nobody: from no card when the activity has ended, nor from one
    /// that the backend ends. Each card is looked up by its key, whatever the tables were like when this was planned.
    private static func outOfLine(among table: String) -> String {
        """
        SELECT s.activity_key, s.device_key, c.is_withheld, c.decodes_from
        FROM \(table) AS r
        CROSS JOIN LATERAL (
            SELECT * FROM subscriptions WHERE activity_key = r.activity_key AND device_key = r.device_key OFFSET 0
        ) AS s
        CROSS JOIN LATERAL (SELECT app_version FROM devices WHERE device_key = s.device_key OFFSET 0) AS d
        CROSS JOIN LATERAL (
            SELECT * FROM activity_app_versions
            WHERE activity_key = s.activity_key AND app_version = \(appVersion) OFFSET 0
        ) AS v
        CROSS JOIN LATERAL (
            SELECT state, revision FROM activities WHERE activity_key = s.activity_key OFFSET 0
        ) AS a
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
    }

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
        FROM cards AS c WHERE \(Query.byKey("s", "c", "activity_key", "device_key"))
        RETURNING 1
        """

    /// Whether the token of the card `s` is rejected: being withheld does not make it good.
    package static let isRejected = """
        (s.state = 'rejected' OR (s.state = 'withheld' AND coalesce(s.rejected_at >= s.registered_at, false)))
        """

    /// The statement that tries withheld starts again: apps can decode the newest state now. It looks at a number of
    /// starts behind a device. It says which device was the last, and how many starts were looked at.
    package static func startsAgain(unsettledOf activityKey: Int64, after deviceKey: Int64, limit: Int) -> Query {
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
            WHERE r.state = 'withheld' AND r.reason = '\(unescaped: reason)'
              AND \(unescaped: isUnsettled("v")) AND NOT v.is_withheld
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
