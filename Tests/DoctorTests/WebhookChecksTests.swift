import APITypes
import ActivityModel
import MetricsTestKit
import OrchestratorTestSupport
import Postgres
import ReportTypes
import Store
import Testing

@testable import Doctor
@testable import Orchestrator
@testable import Webhooks

@Suite("What the doctor says of webhooks and ticket keys", .timeLimit(.minutes(2)))
struct WebhookChecksTests {
    private func put(_ id: String, in world: World, isPaused: Bool = false) async throws {
        let request = WebhookRequest(url: "https://hooks.example.com", isPaused: isPaused)
        _ = try await world.orchestrator.putWebhook(world.app, WebhookID(stored: id), request)
    }

    private func work(_ id: String, in world: World, _ answer: WebhookAnswer) async throws {
        let receiver = WebhookReceiver()
        receiver.answer(answer)
        let rows = try await world.database.query("SELECT webhook_key FROM webhooks WHERE webhook_id = \(id)")
        let worker = WebhookWorker(
            webhooks: world.orchestrator.webhookRoom,
            sender: receiver,
            key: try #require(try rows.single(Int64.self)),
            patience: .zero
        )
        try await worker.run()
    }

    private func checks(_ name: String, in world: World) async -> [DoctorCheck] {
        await world.orchestrator.examine(DoctorRequest(), installation: true).checks.filter { $0.check == name }
    }

    private func gauges(in world: World) async throws -> [Double?] {
        let metrics = TestMetrics()
        try await WorkGauges(store: world.orchestrator.store, metrics: metrics).update()
        return try ["tally_webhooks_failing", "tally_webhooks_paused"].map { try metrics.expectGauge($0).lastValue }
    }

    @Test("A webhook that Tally paused is told with its age, its last error and what to do; one that fails, as well")
    func paused() async throws {
        try await withWorld { world in
            #expect(await checks("webhooks", in: world).isEmpty)
            try await put("gone", in: world)
            try await put("asked", in: world, isPaused: true)
            try await put("quiet", in: world)
            try await world.start()
            _ = try await world.events()
            #expect(await checks("webhooks", in: world).map(\.verdict) == [.ok])
            #expect(try await gauges(in: world) == [0, 0])

            try await work("gone", in: world, .status(410))
            try await world.database.execute(
                "UPDATE webhooks SET paused_at = paused_at - interval '3 hours 5 minutes' WHERE webhook_id = 'gone'"
            )
            let found = await checks("webhooks", in: world)
            let check = try #require(found.first)
            #expect(found.count == 1 && check.verdict == .warning)
            #expect(check.subject == "gone of \(world.app)")
            #expect(check.finding.contains("3 h ago") && check.finding.contains("HTTP 410"))
            #expect(check.advice?.contains("tally webhooks put gone") == true)
            #expect(try await gauges(in: world) == [0, 1])

            try await put("gone", in: world)
            #expect(await checks("webhooks", in: world).map(\.verdict) == [.ok])
            #expect(try await gauges(in: world) == [0, 0])
            #expect(try await world.number("SELECT count(*) FROM webhooks WHERE paused_at IS NOT NULL") == 1)

            try await work("quiet", in: world, .failed("no connection"))
            #expect(await checks("webhooks", in: world).map(\.verdict) == [.ok])
            #expect(try await gauges(in: world) == [1, 0])
            try await world.database.execute(
                "UPDATE webhooks SET failing_since = failing_since - interval '20 minutes'"
            )
            let failing = try #require(await checks("webhooks", in: world).first)
            #expect(failing.finding.contains("20 min") && failing.finding.contains("no connection"))
        }
    }

    @Test("The end of an app's last ticket key is told in time, and no more once there is another key")
    func ticketKeys() async throws {
        try await withWorld { world in
            let key = try await world.orchestrator.createTicketKey(world.app, TicketKeyRequest(algorithm: .hs256))
            #expect(await checks("ticket_keys", in: world).isEmpty)
            try await world.orchestrator.revokeTicketKey(world.app, key.id, afterSeconds: 30 * 86_400)
            #expect(await checks("ticket_keys", in: world).isEmpty)
            try await world.orchestrator.revokeTicketKey(world.app, key.id, afterSeconds: 2 * 86_400 + 60)
            let check = try #require(await checks("ticket_keys", in: world).first)
            #expect(check.verdict == .warning && check.finding.contains("48 h"))
            _ = try await world.orchestrator.createTicketKey(world.app, TicketKeyRequest(algorithm: .hs256))
            #expect(await checks("ticket_keys", in: world).isEmpty)
        }
    }
}
