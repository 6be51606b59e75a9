import APITypes
import Metrics
import Postgres
import Store
import Synchronization

/// How many channels there are, for the operators' metrics: the same from every daemon, as it comes from the tables.
final class ChannelGauges: Sendable {
    private struct Label: Hashable {
        let name: String
        let app: String
        let environment: String
    }

    private let factory: any MetricsFactory
    private let told = Mutex<[Label: Gauge]>([:])

    init(factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Tells the metrics system, and withdraws what there is nothing to tell of any more: the app was deleted, or has
    /// lost its key.
    func update(from database: Database) async throws {
        let rows = try await database.query(
            """
            SELECT s.bundle_id, s.environment::text, s.at_apple,
                   (SELECT count(*) FROM channels AS c
                    WHERE c.bundle_id = s.bundle_id AND c.environment = s.environment
                      AND \(unescaped: ChannelStanding.isAtApple("c"))),
                   (SELECT count(*) FROM unknown_channels AS u
                    WHERE u.bundle_id = s.bundle_id AND u.environment = s.environment)
            FROM channel_sweeps AS s
            """
        )
        var values: [Label: Int64] = [:]
        for (app, environment, atApple, known, unknown) in try rows.decoded(
            as: (String, String, Int32?, Int64, Int64).self
        ) {
            func tell(_ name: String, _ value: Int64) {
                values[Label(name: name, app: app, environment: environment)] = value
            }
            tell("tally_channels_known", known)
            tell("tally_channels_unknown", unknown)
            // Unknown before the first comparison.
            guard let atApple else { continue }
            tell("tally_channels_at_apple", Int64(atApple))
            tell("tally_channels_left", Int64(ChannelReport.quota) - Int64(atApple))
        }
        tell(values)
    }

    private func tell(_ values: [Label: Int64]) {
        told.withLock { told in
            for (label, gauge) in told where values[label] == nil {
                gauge.destroy()
                told[label] = nil
            }
            for (label, value) in values {
                let gauge = told[label] ?? gauge(label)
                told[label] = gauge
                gauge.record(value)
            }
        }
    }

    private func gauge(_ label: Label) -> Gauge {
        Gauge(
            label: label.name,
            dimensions: [("app", label.app), ("environment", label.environment)],
            factory: factory
        )
    }
}
