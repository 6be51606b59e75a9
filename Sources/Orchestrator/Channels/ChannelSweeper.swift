import ActivityModel
import Logging
import Postgres
import ServiceLifecycle

/// Deletes channels when the grace time after the end of their activity is over (promise 11).
struct ChannelSweeper: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    /// How soon a channel is due is a matter of minutes and hours.
    private static let interval = Duration.seconds(1)
    private static let batchSize = 20

    var description: String { "channel-sweeper" }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await sweep()
                } catch {
                    orchestrator.logger.warning("cannot sweep channels", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: Self.interval)  // throws only when cancelled
            }
        }
    }

    func sweep() async throws {
        // A claim moves the time on, so that another daemon leaves the channel alone and a failure is tried again.
        let rows = try await orchestrator.database.query(
            """
            WITH due AS MATERIALIZED (
                SELECT channel_id FROM channels
                WHERE delete_at <= now() AND state IN ('ready', 'deleting')
                ORDER BY delete_at LIMIT \(Self.batchSize) FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE channels AS c
            SET state = 'deleting', failures = least(c.failures + 1, 1000),
                delete_at = clock_timestamp() + least(\(Duration.seconds(10)) * (1 << least(c.failures, 6)), interval '10 minutes')
            FROM due WHERE c.channel_id = due.channel_id
            RETURNING c.channel_id::text, c.bundle_id, c.environment::text, c.apns_channel_id
            """
        )
        for (id, app, environment, apnsID) in try rows.decoded(as: (String, String, String, String).self) {
            let outcome = try await orchestrator.deleteAtApple(
                BundleID(stored: app),
                .stored(environment),
                APNSChannelID(stored: apnsID),
                id
            )
            if let outcome {
                orchestrator.logger.warning(
                    "a channel is not deleted",
                    metadata: ["channel.id": "\(id)", "apns.reason": "\(outcome.words)"]
                )
            }
        }
    }
}
