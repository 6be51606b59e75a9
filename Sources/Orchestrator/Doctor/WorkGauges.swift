import Logging
import Metrics
import Postgres
import ServiceLifecycle

/// Tells the metrics system how the work stands and what the clocks say, for alerts: the same from every daemon, but for the
/// way from there to the database.
struct WorkGauges: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let interval = Duration.seconds(15)

    var description: String { "work-gauges" }

    func run() async {
        await repeating("look at the work", every: Self.interval, logger: orchestrator.logger) {
            do {
                try await update()
                Gauge(label: "tally_database_reachable").record(1)
            } catch {
                Gauge(label: "tally_database_reachable").record(0)
                throw error
            }
        }
    }

    private func update() async throws {
        let facts = try await WorkFacts.read(app: nil, from: orchestrator.database)
        for kind in WorkFacts.Kind.allCases {
            Gauge(label: "tally_work_waiting_seconds", dimensions: [("kind", kind.rawValue)])
                .record(facts.waiting[kind] ?? 0)
        }
        Gauge(label: "tally_leases_held").record(facts.held)
        Gauge(label: "tally_leases_stale").record(facts.stale)
        let clocks = try await ClockComparison.read(from: orchestrator.database)
        Gauge(label: "tally_clock_skew_seconds").record(Double(clocks.skew) / 1_000_000)
    }
}
