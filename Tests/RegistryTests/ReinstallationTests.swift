import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@Suite("A device that comes back in the other environment", .timeLimit(.minutes(2)))
struct ReinstallationTests {
    @Test("A card that the new installation reported before its device stays; the old one's is over")
    func cardBeforeDevice() async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.register("d1")
            try await world.start("old")
            try await world.start("new") { $0.environment = .sandbox }
            try await world.follow("d1", token: "aa01", in: "old", known: 1)
            try await world.follow("d1", token: "bb01", in: "new", known: 1, on: .sandbox)
            try await world.register("d1", on: .sandbox)
            for id in ["old", "new"] { try await world.update(id, score: 1) }
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
        }
    }

    @Test("A start that was given up by the move is tried again when the device moves back")
    func andBack() async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.register("d1", token: "5a01", on: .sandbox)
            try await world.start(to: World.devices("d1")) { $0.environment = .sandbox }
            world.recorder.answer("5a01", with: .unavailable)
            try await world.settle()
            // Back and forth, as when the app is started from Xcode and from TestFlight by turns.
            try await world.register("d1", token: "5b01", on: .production)
            #expect(try await world.startState("d1") == "cancelled")
            try await world.register("d1", token: "5a02", on: .sandbox)
            _ = world.recorder.take()
            try await world.pass(60)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a02"])
        }
    }

    @Test(
        "A start that waited for its time is given up",
        arguments: ["start_budget", "incompatible_version", nil] as [String?]
    )
    func waiting(reason: String?) async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            let state = reason == nil ? "failed" : "withheld"
            try await world.tables.addStarts(state, dueIn: reason == "start_budget" ? 60 : nil, reason: reason)
            try await world.register("d1", token: "5b01", on: .sandbox)
            #expect(try await world.startState("d1") == "cancelled")
            try await world.pass(90)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A start that was made beside the move is not sent to the new installation")
    func madeBesideMove() async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.register("d1", token: "5b01", on: .sandbox)
            // An enrolment that did not see the move yet.
            try await world.tables.addStarts("pending", dueIn: 0)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.startState("d1") == "cancelled")
        }
    }
}
