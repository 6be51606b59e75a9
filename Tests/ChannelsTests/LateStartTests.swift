import APITypes
import APNSTransport
import ActivityModel
import Intake
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator

@Suite("Phones that come to a channel after the last broadcast", .timeLimit(.minutes(2)))
struct LateStartTests {
    /// A match on a channel, with one phone whose start has left.
    private func withStart(
        storage: ChannelStorage = .mostRecent,
        answer: PushOutcome? = nil,
        _ body: (World) async throws -> Void
    ) async throws {
        try await withWorld(policy: { $0.channelStorage = storage }) { world in
            try await world.register("d1", token: "5a01")
            if let answer { world.recorder.answer("5a01", with: answer) }
            try await world.start(to: World.devices("d1"), delivery: .channel)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["start"])
            try await body(world)
        }
    }

    @Test("The newest state is repeated once when the start has expired", arguments: [nil, PushOutcome.noAnswer])
    func update(answer: PushOutcome?) async throws {
        try await withStart(answer: answer) { world in
            // Its card is known, so that no start in doubt is repeated.
            if answer != nil { try await world.report("d1", .channel, known: 1) }
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            try await world.pass(600)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            try await world.pass(10_000)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test(
        "The end is repeated before the channel is deleted",
        arguments: [ChannelStorage.mostRecent, .none],
        [nil, PushOutcome.noAnswer]
    )
    func end(storage: ChannelStorage, answer: PushOutcome?) async throws {
        try await withStart(storage: storage, answer: answer) { world in
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            #expect(try await world.number("SELECT count(*) FROM channels WHERE delete_at IS NOT NULL") == 0)
            // Apple is away when the time has come.
            world.recorder.answerAll(with: .unavailable)
            try await world.pass(631)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            #expect(try await world.number("SELECT count(*) FROM channels WHERE delete_at IS NOT NULL") == 0)
            world.recorder.answerAll(with: nil)
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            #expect(try await world.number("SELECT count(*) FROM channels WHERE delete_at IS NOT NULL") == 1)
            try await world.pass(600)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("Nothing is repeated where nothing was broadcast since, nor where the newest state left after the start")
    func nothingMissed() async throws {
        try await withStart { world in
            try await world.pass(700)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            try await world.pass(700)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.end()
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM channels WHERE delete_at IS NOT NULL") == 1)
        }
    }

    @Test("The youngest start counts: all who have missed something share one repeat")
    func youngest() async throws {
        try await withStart { world in
            try await world.update(score: 1)
            try await world.settle()
            try await world.pass(400)
            try await world.register("d2", token: "5a02")
            _ = try await world.orchestrator.intake.changeAudience(
                world.app,
                ActivityID(stored: "final"),
                AudienceRequest(add: World.devices("d2"))
            )
            try await world.settle()
            _ = world.recorder.take()
            try await world.pass(400)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.pass(231)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }
}
