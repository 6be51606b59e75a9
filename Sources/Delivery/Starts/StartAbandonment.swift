import Cards
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
                .planningOnce, StartRows.abandonment(of: activityKey, limit: Self.atOnce),
                AudienceRows.purge(activityKey: activityKey), AudienceRows.purgeTopics(activityKey: activityKey),
            ])
        }
        return !results[1].isEmpty || results[2].count == AudienceRows.purgedAtOnce
    }

    /// Few enough not to hold back what is sent at the same time.
    private static let atOnce = 2_000
}
