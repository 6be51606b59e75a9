import APITypes
import APNSTransport
import ActivityModel
import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator
@testable import Store

/// Pauses of an hour and more, so that none ends while a test runs.
@Suite("The pause after a failure", .timeLimit(.minutes(2)))
struct PauseTests {
    private static let settings = OrchestratorSettings {
        $0.retryCap = .seconds(7_200)
        $0.jitter = { 1 }
    }

    /// As if so much had failed before that the next pause lasts long.
    private func fail(_ world: World, with outcome: PushOutcome) async throws {
        try await world.database.execute("UPDATE segments SET failures = 20")
        world.recorder.answerAll(with: outcome)
        _ = world.recorder.take()
    }

    @Test(
        "New changes and new phones do not cut it short, whoever looks for work; an end does, once",
        arguments: [nil, "Messi"],
        [PushOutcome.unavailable, .tooMany, .notSent, .badKey]
    )
    func ring(alert: String?, outcome: PushOutcome) async throws {
        try await withWorld(settings: Self.settings) { world in
            try await world.start()
            for number in [1, 2, 5] { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            try await fail(world, with: outcome)
            try await world.update(score: 1, alert: alert)
            try await world.settle()
            #expect(world.recorder.take().count == 3)

            // Nothing is leased in the accept either.
            world.orchestrator.deliveryStore.wakeUps.open(room: 10)
            try await world.update(score: 2, alert: alert)
            #expect(world.orchestrator.deliveryStore.wakeUps.takeLeases(10).isEmpty)
            try await world.settle()
            try await world.follow("d3", token: "aa03")
            try await world.follow("d1", token: "bb01")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)

            try await world.end()
            try await world.settle()
            #expect(!world.recorder.take().isEmpty)
            try await world.follow("d4", token: "aa04")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)

            world.recorder.answerAll(with: nil)
            try await world.pass(7_201)
            try await world.settle()
            let ends = world.recorder.take().filter { $0.event == "end" }
            #expect(Set(ends.map(\.destination)) == ["bb01", "aa02", "aa03", "aa04", "aa05"])
        }
    }

    @Test("A broadcast that was refused waits, whatever is accepted and whoever joins; the end passes once")
    func broadcast() async throws {
        try await withWorld(settings: Self.settings) { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await fail(world, with: .tooMany)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            try await world.update(score: 2)
            try await world.report("d1", .channel, known: 1)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            try await world.report("d2", .channel, known: 1)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            world.recorder.answerAll(with: nil)
            try await world.pass(7_201)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("A channel that Apple refuses to make is asked for again when the pause is over, whatever is accepted")
    func creation() async throws {
        try await withWorld(settings: Self.settings) { world in
            try await world.start(delivery: .channel)
            try await fail(world, with: .unavailable)
            world.recorder.answerCreation(with: .failed(.unavailable))
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.channels.isEmpty)
            world.recorder.answerAll(with: nil)
            try await world.pass(7_201)
            try await world.settle()
            #expect(world.recorder.channels.count == 1)
        }
    }

    @Test("A card that waits after a failure goes on waiting when its app reports the same token; a new one is sent to")
    func sameToken() async throws {
        try await withWorld(settings: Self.settings) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.database.execute("UPDATE subscriptions SET failures = 20")
            world.recorder.answerAll(with: .tooMany)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            for known: Revision? in [nil, 1] {
                try await world.follow("d1", token: "aa01", known: known)
                try await world.settle()
                #expect(world.recorder.take().isEmpty)
                #expect(try await world.number("SELECT failures FROM subscriptions") == 21)
            }
            world.recorder.answerAll(with: nil)
            try await world.follow("d1", token: "bb01", known: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
        }
    }

    @Test("One that the clock was set back in does not last longer than any does")
    func clockSetBack() async throws {
        try await withWorld(settings: Self.settings) { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            try await fail(world, with: .unavailable)
            try await world.update(score: 1)
            try await world.settle()
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.database.execute("UPDATE segments SET retry_at = retry_at + interval '1 day'")
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2, 2])
        }
    }

    @Test(
        "A start that APNs refuses for the key makes the whole activity pause; one that APNs refuses for now, only itself",
        arguments: [(PushOutcome.badKey, Int64(1)), (.tooMany, 0)]
    )
    func start(outcome: PushOutcome, failures: Int64) async throws {
        try await withWorld(settings: Self.settings) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: outcome)
            try await world.start("a", to: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.pushes(to: "5a01").count == 1)
            #expect(try await world.number("SELECT failures FROM segments WHERE segment = 0") == failures)
        }
    }
}
