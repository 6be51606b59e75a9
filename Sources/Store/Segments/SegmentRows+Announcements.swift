package import Postgres

// Many transactions at once announce work in `wake_ups`. The dispatcher gives the announced work to the segments.
extension SegmentRows {
    /// The statement that announces work. Callers do not queue for the lock of one row.
    package static func announce(activityKeys: [Int64]) -> Query {
        "INSERT INTO wake_ups (activity_key) SELECT * FROM unnest(\(activityKeys))"
    }

    /// The same for work that is about cards: one announcement for each activity.
    package static func announce(cards: [CardKey]) -> Query {
        let devices = Dictionary(grouping: cards, by: \.activityKey).mapValues { $0.count == 1 ? $0[0].deviceKey : nil }
        let keys = devices.keys.sorted()
        return """
            INSERT INTO wake_ups (activity_key, device_key)
            SELECT * FROM unnest(\(keys), \(keys.map { devices[$0] ?? nil }))
            """
    }

    /// The same for the due cards in a table, which has the columns of `subscriptions`.
    package static func announcement(ofDueAmong cards: String) -> String {
        """
        INSERT INTO wake_ups (activity_key, device_key)
        SELECT activity_key, CASE count(*) WHEN 1 THEN min(device_key) END FROM \(cards)
        WHERE state = 'due' GROUP BY activity_key
        """
    }

    /// The same for the activities in the rows of a table, each once. A condition on the rows may follow.
    package static func announcement(ofActivitiesIn rows: String) -> String {
        "INSERT INTO wake_ups (activity_key) SELECT DISTINCT activity_key FROM \(rows)"
    }

    /// The same for the keys of activities that a query selects.
    package static func announcement(of activityKeys: Query) -> Query {
        """
        INSERT INTO wake_ups (activity_key)
        \(part: activityKeys)
        """
    }

    /// The statement that takes announcements, the oldest first and at most `limit`, and gives their work to the
    /// segments: of several rings only to those that hold the cards. It counts what it has taken.
    package static func takeAnnouncements(_ limit: Int) -> Query {
        """
        WITH taken AS (
            DELETE FROM wake_ups WHERE wake_up_id = ANY (ARRAY(
                SELECT wake_up_id FROM wake_ups ORDER BY wake_up_id LIMIT \(limit) FOR UPDATE SKIP LOCKED
            ))
            RETURNING activity_key, device_key
        ), found AS MATERIALIZED (
            SELECT DISTINCT s.activity_key, s.segment FROM taken AS t CROSS JOIN LATERAL (
                SELECT activity_key, segment FROM segments
                WHERE activity_key = t.activity_key AND (
                    segment < 0 OR t.device_key IS NULL OR (t.device_key > after_key AND t.device_key <= through_key)
                ) OFFSET 0
            ) AS s
        ), woken AS MATERIALIZED (
            SELECT s.activity_key, s.segment FROM found AS f JOIN segments AS s USING (activity_key, segment)
            WHERE s.activity_key = ANY (ARRAY(SELECT activity_key FROM found))
            ORDER BY s.activity_key, s.segment FOR NO KEY UPDATE OF s
        ), due AS (
            UPDATE segments AS s SET due_at = \(unescaped: dueNow("s")), wakes = s.wakes + 1
            FROM woken WHERE s.activity_key = woken.activity_key AND s.segment = woken.segment
              AND s.activity_key = ANY (ARRAY(SELECT activity_key FROM woken))
        )
        SELECT count(*) FROM taken
        """
    }
}
