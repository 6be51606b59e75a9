import DeliveryStore
import Postgres
import Store

/// Gives up in parts what is left of the starts and the audience of an activity that is over. Nobody who has to hear of
/// the end waits for it.
struct StartAbandonment: Sendable {
    let database: Database
    let activityKey: Int64

    /// Gives up a part. No start leaves before that, because a claim asks for a live activity.
    ///
    /// - Returns: Whether there may be more.
    func run() async throws -> Bool {
        // Reports and deletions settle starts in an order of their own.
        let results = try await database.withYieldingTransaction { connection in
            try await connection.commit([
                .planningOnce, starts, AudienceRows.purge(activityKey: activityKey),
                AudienceRows.purgeTopics(activityKey: activityKey),
            ])
        }
        return !results[1].isEmpty || results[2].count == AudienceRows.purgedAtOnce
    }

    /// Few enough not to hold back what is sent at the same time.
    private static let atOnce = 2_000

    /// A start without an answer may have started a card; its token will tell.
    private var starts: Query {
        """
        WITH due AS MATERIALIZED (
            SELECT device_key FROM starts
            WHERE activity_key = \(activityKey) AND device_key = ANY(ARRAY(
                SELECT device_key FROM starts WHERE activity_key = \(activityKey) AND due_at IS NOT NULL
                ORDER BY due_at LIMIT \(Self.atOnce)
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
