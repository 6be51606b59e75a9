import APNSTransport
import ActivityModel
import HTTP2Engine
import HTTP2TestSupport
import MetricsTestKit
import Testing

@Suite("What the transport tells of itself", .timeLimit(.minutes(1)), .bothSessions)
struct MetricsTests {
    @Test("answers are counted per app, status and reason; words that Apple does not know are one")
    func answers() async throws {
        try await ClientWorld.run(
            script: { request in
                switch request.path.suffix(1) {
                case "1": .refusal(400, "BadDeviceToken")
                case "2": .refusal(400, "Surprise-\(request.number)")
                case "3": .reset(.internalError)
                default: .ok
                }
            },
            { world async throws in
                #expect(try await world.send(32).accepted == 26)
                #expect(world.count(api: "device", status: "200", reason: "") == 26)
                #expect(world.count(api: "device", status: "400", reason: "BadDeviceToken") == 2)
                #expect(world.count(api: "device", status: "400", reason: "other") == 2)
                #expect(world.count(api: "device", status: "none", reason: "unknown") == 2)
                #expect(world.metrics.counters.count { $0.label == "tally_apns_responses_total" } == 4)
            }
        )
    }

    @Test("every 128th push of a batch is timed, the first among them")
    func latencies() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            #expect(try await world.send(300).accepted == 300)
            let timer = try world.metrics.expectTimer(
                "tally_apns_request_seconds",
                [("environment", "sandbox"), ("api", "device")]
            )
            #expect(timer.values.count == 3)
            #expect(timer.values.allSatisfy { $0 > 0 && $0 < 60_000_000_000 })
        }
    }

    @Test("connections and open requests are shown, and gone when they are over")
    func gauges() async throws {
        try await ClientWorld.run(script: { $0.number < 3 ? .ok : .silence }) { world async throws in
            func gauge(_ name: String) throws -> Double? {
                try world.metrics.expectGauge(name, [("environment", "sandbox")]).lastValue
            }
            #expect(try await world.send(3).accepted == 3)
            #expect(try gauge("tally_apns_connections") == 1)
            #expect(try gauge("tally_apns_streams") == 0)
            let waiting = Task { try await world.send(7) }
            await world.server.arrival(of: 10)
            // A work that ends shows what the others have under way, right after its caller has heard: the second comes
            // later.
            for _ in 1...2 { _ = try await world.send(1, deadline: .milliseconds(50)) }
            #expect(try gauge("tally_apns_streams") ?? 0 >= 7)
            await world.client.shutDown()
            _ = try await waiting.value
            #expect(try gauge("tally_apns_connections") == 0)
            #expect(try gauge("tally_apns_streams") == 0)
        }
    }
}
