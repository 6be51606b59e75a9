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

    /// The counters without labels. Parts of the daemon count on them.
    private static let counters = [
        "tally_activities_deleted_total", "tally_timeline_rows_lost_total", "tally_token_waits_overdue_total",
        "tally_webhook_events_total",
    ]

    /// Shows the counters without labels from the start on, with 0: Prometheus sees no increase in a counter that
    /// appears with its first event.
    static func startCounters(_ metrics: PrometheusMetrics) {
        for name in counters { Counter(label: name, factory: metrics).increment(by: 0) }
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
