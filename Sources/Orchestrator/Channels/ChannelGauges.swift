import APITypes
import Metrics
import Postgres

/// How many channels there are, for the operators' metrics: the same from every daemon, as it comes from the tables.
enum ChannelGauges {
    /// Tells the metrics system.
    static func update(from database: Database) async throws {
        let rows = try await database.query(
            """
            SELECT s.bundle_id, s.environment::text, s.at_apple,
                   (SELECT count(*) FROM channels AS c
                    WHERE c.bundle_id = s.bundle_id AND c.environment = s.environment AND c.state IN ('ready', 'deleting')),
                   (SELECT count(*) FROM unknown_channels AS u
                    WHERE u.bundle_id = s.bundle_id AND u.environment = s.environment)
            FROM channel_sweeps AS s
            """
        )
        for (app, environment, atApple, known, unknown) in try rows.decoded(
            as: (String, String, Int32?, Int64, Int64).self
        ) {
            let labels = [("app", app), ("environment", environment)]
            Gauge(label: "tally_channels_known", dimensions: labels).record(known)
            Gauge(label: "tally_channels_unknown", dimensions: labels).record(unknown)
            // Unknown before the first comparison.
            guard let atApple else { continue }
            Gauge(label: "tally_channels_at_apple", dimensions: labels).record(atApple)
            Gauge(label: "tally_channels_left", dimensions: labels).record(ChannelReport.quota - Int(atApple))
        }
    }
}
