import APITypes
import ActivityModel
import MetricsTestKit
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Channels
@testable import Orchestrator

@Suite("How many channels there are, for operators", .timeLimit(.minutes(2)))
struct ChannelGaugeTests {
    @Test("What is told of an app is withdrawn when the app is deleted")
    func deletion() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let gauges = ChannelGauges(factory: metrics)
            _ = try await world.orchestrator.reconcileChannels(world.app, ReconcileRequest(), idempotency: nil)
            try await gauges.update(from: world.database)
            #expect(
                Set(metrics.recorders.map(\.label)) == [
                    "tally_channels_known", "tally_channels_unknown", "tally_channels_at_apple", "tally_channels_left",
                ]
            )
            let left = try metrics.expectGauge(
                "tally_channels_left",
                [("app", world.app.rawValue), ("environment", "production")]
            )
            #expect(left.lastValue == 10_000)
            try await world.orchestrator.deleteApp(world.app)
            try await gauges.update(from: world.database)
            #expect(metrics.recorders.isEmpty)
        }
    }
}
