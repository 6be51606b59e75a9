import APITypes
import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Starts that met a suspect token", .timeLimit(.minutes(2)))
struct SendingHaltStartTests {
    /// No turn is over because time passes.
    private static let timeless = OrchestratorSettings { $0.uptime = { .zero } }
    /// The score that tells the starts of the activity in question from others.
    private static let score: Int64 = 7

    private func register(_ numbers: ClosedRange<Int>, in world: World) async throws {
        for number in numbers { try await world.register("phone\(number)", token: World.crowdToken(number)) }
    }

    private func phones(_ numbers: ClosedRange<Int>) -> [DeviceID] {
        numbers.map { DeviceID(stored: "phone\($0)") }
    }

    private func isHalted(_ world: World) async throws -> Bool {
        try await world.number("SELECT count(*) FROM sending_halts") == 1
    }

    /// As if the pause before the next probe were over, at which every segment may rest.
    private func endPause(_ world: World) async throws {
        _ = try await world.database.pipeline([
            "UPDATE sending_halts SET probe_at = now()", "UPDATE segments SET due_at = NULL",
        ])
        try await HaltPatrol(work: world.orchestrator.deliveryStore).look()
    }

    /// Where the starts of the activity in question went to since the last look.
    private func started(in world: World) -> [String] {
        world.recorder.take().filter { $0.event == "start" && $0.score == Self.score }.map(\.destination)
    }

    /// When a start of one activity meets the token that the start of another has had rejected.
    enum Meeting: CaseIterable {
        /// The start was made before that, and was not due yet.
        case waited
        /// The start is made after that, and before the halt.
        case madeLater
    }

    @Test(
        "A start whose token the push of another activity has had rejected leaves when the halt ends",
        arguments: Meeting.allCases,
        ["probe", "operator"]
    )
    func otherActivity(meeting: Meeting, lifter: String) async throws {
        try await withWorld(settings: Self.timeless) { world in
            try await register(1...60, in: world)
            if meeting == .waited {
                try await world.start("second", to: Audience(allOfType: true), score: Self.score)
                let key = try #require(try await world.number("SELECT activity_key FROM activities"))
                try await world.enrol(key)
                try await world.database.execute("UPDATE starts SET due_at = now() + interval '1 hour'")
            }
            world.recorder.answerAll(with: .badToken)
            try await world.start("first", to: Audience(allOfType: true))
            try await world.settle()
            if meeting == .madeLater {
                try await world.start("second", to: Audience(allOfType: true), score: Self.score)
            }
            try await world.hurry()
            try await world.database.execute("UPDATE segments SET due_at = now()")
            try await world.settle()
            #expect(try await !isHalted(world), "60 answers decide nothing")
            #expect(started(in: world).isEmpty)
            #expect(try await world.show("second").starts.reasons == ["no_start_token": 60])

            try await register(61...120, in: world)
            try await world.settle()
            #expect(try await isHalted(world))

            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            if lifter == "probe" {
                try await endPause(world)
            } else {
                try await world.database.execute("UPDATE segments SET due_at = NULL")
                try await world.orchestrator.liftHalt(world.app, .production, reviving: true)
            }
            try await world.settle()
            #expect(started(in: world).sorted() == (1...120).map(World.crowdToken))
        }
    }

    @Test("An operator who leaves suspects rejected starts nobody by them")
    func leftRejected() async throws {
        try await withWorld { world in
            try await register(1...60, in: world)
            world.recorder.answerAll(with: .badToken)
            try await world.start("first", to: Audience(allOfType: true))
            try await world.settle()
            try await world.start("second", to: Audience(allOfType: true), score: Self.score)
            try await world.settle()
            try await register(61...120, in: world)
            try await world.settle()
            #expect(try await isHalted(world))
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.orchestrator.liftHalt(world.app, .production, reviving: false)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A start by a token that a probe for another activity has revived leaves, too")
    func probeOfOther() async throws {
        try await withWorld(settings: Self.timeless) { world in
            world.recorder.answerAll(with: .badToken)
            try await register(1...1, in: world)
            try await world.start("first", to: Audience(allOfType: true))
            try await world.settle()
            // The token that was rejected first has no start of this activity, so the probe is for the other one.
            try await register(2...2, in: world)
            try await world.start("second", to: World.devices("phone2"), score: Self.score)
            try await world.settle()
            try await register(3...120, in: world)
            try await world.settle()
            #expect(try await isHalted(world))

            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await endPause(world)
            try await world.settle()
            #expect(try await !isHalted(world))
            #expect(started(in: world) == [World.crowdToken(2)])
        }
    }

    @Test("A probe whose first starts have only suspect tokens goes on to those that can leave")
    func probeGoesOn() async throws {
        try await withWorld(settings: Self.timeless) { world in
            try await register(1...120, in: world)
            world.recorder.answerAll(with: .badToken)
            try await world.start("first", to: Audience(devices: phones(1...120)))
            try await world.settle()
            #expect(try await isHalted(world))

            try await register(121...121, in: world)
            try await world.database.execute("UPDATE segments SET due_at = NULL")
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            // More suspects than a probe claims at once come before the phone whose token is good.
            let audience = Audience(devices: phones(1...15) + phones(121...121))
            try await world.start("second", to: audience, score: Self.score)
            try await world.database.execute("UPDATE sending_halts SET probe_at = now()")
            try await world.settle()
            #expect(try await !isHalted(world))
            #expect(started(in: world).sorted() == ((1...15).map(World.crowdToken) + [World.crowdToken(121)]))
        }
    }
}
