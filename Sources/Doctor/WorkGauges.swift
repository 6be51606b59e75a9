import Logging
import Metrics
import Postgres
import ServiceLifecycle
import Store

/// Tells the metrics system how the work stands and what the clocks say, for alerts. All daemons tell the same, except for
/// their own way to the database.
struct WorkGauges: Service, CustomStringConvertible {
    let store: Store
    var metrics = MetricsSystem.factory

    private static let interval = Duration.seconds(15)

    var description: String { "work-gauges" }

    func run() async {
        await repeating("look at the work", every: Self.interval, logger: store.logger) {
            try await update()
        }
    }

    /// A statement that reads nothing asks whether the database can be reached. A slow statement would only say that
    /// there is much to read.
    func update() async throws {
        defer { gauge("tally_database_writable").record(store.database.writes.current() == nil ? 1 : 0) }
        let reachable = gauge("tally_database_reachable")
        do {
            let clocks = try await ClockComparison.read(from: store.database)
            reachable.record(1)
            gauge("tally_clock_skew_seconds").record(Double(clocks.skew) / 1_000_000)
        } catch {
            reachable.record(0)
            throw error
        }
        let facts = try await WorkFacts.read(app: nil, from: store.database)
        for kind in WorkFacts.Kind.allCases {
            gauge("tally_work_waiting_seconds", [("kind", kind.rawValue)]).record(facts.waiting[kind] ?? 0)
        }
        gauge("tally_leases_held").record(facts.held)
        gauge("tally_leases_stale").record(facts.stale)
        let webhooks = try await WebhookFacts.counts(in: store.database)
        gauge("tally_webhooks_failing").record(webhooks.failing)
        gauge("tally_webhooks_paused").record(webhooks.paused)
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)] = []) -> Gauge {
        Gauge(label: label, dimensions: dimensions, factory: metrics)
    }
}
