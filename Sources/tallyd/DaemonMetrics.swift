import HTTPAPI
import Intake
import Metrics
import Orchestrator
import Postgres

/// The metrics that are read for each page, from the parts of the daemon.
enum DaemonMetrics {
    /// How long callers wait for a connection to the database.
    static func databaseWait(_ metrics: PrometheusMetrics) -> @Sendable (Duration) -> Void {
        let timer = Timer(label: "tally_database_wait_seconds", factory: metrics)
        return { timer.recordNanoseconds(Int64($0 / .nanoseconds(1))) }
    }

    static func read(_ database: Database, _ metrics: PrometheusMetrics) {
        metrics.gauge("tally_database_connections") { Double(database.statistics.connections) }
        metrics.gauge("tally_database_connections_idle") { Double(database.statistics.idle) }
        metrics.gauge("tally_database_waiting") { Double(database.statistics.waiting) }
    }

    static func read(_ orchestrator: Orchestrator, _ metrics: PrometheusMetrics) {
        metrics.gauge("tally_intake_waiting") { Double(orchestrator.intake.waitingChanges) }
        metrics.gauge("tally_intake_expected_wait_seconds") { orchestrator.intake.expectedIntakeWait / .seconds(1) }
    }
}
