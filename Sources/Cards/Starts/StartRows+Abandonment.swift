package import Postgres

extension StartRows {
    /// The statement that gives up at most `limit` starts that are left of an activity that is over. It returns a row
    /// for each.
    ///
    /// A start without an answer may have started a card; its token will tell.
    package static func abandonment(of activityKey: Int64, limit: Int) -> Query {
        """
        WITH due AS MATERIALIZED (
            SELECT device_key FROM starts
            WHERE activity_key = \(activityKey) AND device_key = ANY(ARRAY(
                SELECT device_key FROM starts WHERE activity_key = \(activityKey) AND due_at IS NOT NULL
                ORDER BY due_at LIMIT \(limit)
            ))
            ORDER BY device_key FOR NO KEY UPDATE
        )
        UPDATE starts AS s
        SET state = CASE WHEN s.state IN ('pending', 'withheld') THEN 'cancelled'::start_state ELSE 'unknown' END, due_at = NULL
        FROM due WHERE s.activity_key = \(activityKey) AND s.device_key = due.device_key AND s.due_at IS NOT NULL
        RETURNING 1
        """
    }
}
