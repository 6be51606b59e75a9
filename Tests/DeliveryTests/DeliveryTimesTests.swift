import APITypes
import ActivityModel
import MetricsTestKit
import OrchestratorTestSupport
import Testing

@Suite("How long changes take to reach APNs", .timeLimit(.minutes(2)))
struct DeliveryTimesTests {
    /// The whole seconds that were told of deliveries with an urgency, in their order.
    private static func seconds(_ metrics: TestMetrics, _ api: String, _ urgency: Urgency) throws -> [Int64] {
        try metrics.expectTimer(
            "tally_delivery_seconds",
            [("environment", "production"), ("api", api), ("urgency", urgency.rawValue)]
        ).values.map { $0 / 1_000_000_000 }
    }

    @Test("They are told from the accept to the answer, by way and urgency", arguments: [Urgency.routine, .critical])
    func tokens(urgency: Urgency) async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let daemon = world.sibling(metrics: metrics)
            try await world.start()
            try await world.follow("fan", token: "aa01", known: 1)
            try await daemon.settle()
            try await world.update(score: 1) { $0.urgency = urgency }
            try await world.pass(7)
            try await daemon.settle()
            #expect(world.recorder.take().last?.score == 1)
            #expect(try Self.seconds(metrics, "device", urgency) == [7])
        }
    }

    @Test("A broadcast's is told, its repeat for those who joined late is not")
    func channel() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let daemon = world.sibling(metrics: metrics)
            try await world.start(delivery: .channel)
            try await daemon.settle()
            try await world.update(score: 1) { $0.urgency = .notable }
            try await world.pass(3)
            try await daemon.settle()
            try await world.report("late", .channel, known: 0)
            try await world.pass(11)
            try await daemon.settle()
            #expect(world.recorder.take().map(\.score) == [1, 1])
            #expect(try Self.seconds(metrics, "broadcast", .notable) == [3])
        }
    }

    @Test("A card that is sent to again, or joins late, tells nothing")
    func exceptions() async throws {
        try await withWorld { world in
            let metrics = TestMetrics()
            let daemon = world.sibling(metrics: metrics)
            try await world.start()
            try await world.follow("fan", token: "aa01", known: 1)
            try await daemon.settle()
            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 1)
            try await daemon.settle()
            try await world.follow("late", token: "aa02")
            world.recorder.answerAll(with: nil)
            try await world.hurry()
            _ = world.recorder.take()
            try await daemon.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["aa01", "aa02"])
            #expect(metrics.timers(label: "tally_delivery_seconds").isEmpty)
        }
    }
}
