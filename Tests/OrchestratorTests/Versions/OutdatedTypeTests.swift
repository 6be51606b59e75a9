import APITypes
import ActivityModel
import JSON
import Postgres
import Testing

@testable import Orchestrator

/// A type is believed for a second: another daemon may have registered a version of it meanwhile.
@Suite("A daemon that has not heard of a version yet", .timeLimit(.minutes(2)))
struct OutdatedTypeTests {
    /// Lends a daemon that has just looked at the type, which has got another version by another daemon since.
    private func withVersion(
        after prepare: (World) async throws -> Void,
        _ body: (_ outdated: World, _ other: World) async throws -> Void
    ) async throws {
        try await withWorld { world in
            let other = world.sibling()
            try await prepare(world)
            _ = try await world.orchestrator.typeContext(world.app, World.game)
            try await other.registerVersion(force: true)
            try await body(world, other)
        }
    }

    @Test("A change is judged by the new version as well")
    func change() async throws {
        try await withVersion { world in
            try await world.install("2.1", on: "new")
            try await world.start { $0.contentState["clock"] = "0" }
            try await world.follow("new", token: "aa01")
        } _: { world, _ in
            let refusing = try await refusingVersions { try await world.updateOld(score: 1) }
            #expect(refusing == [2])
        }
    }

    @Test("Who registers is judged by the new version")
    func registration() async throws {
        try await withVersion { world in
            try await world.install("2.1", on: "new")
            try await world.start()
        } _: { world, _ in
            let answer = try await world.follow("new", token: "aa01")
            #expect(answer.state == .withheld)
        }
    }

    @Test("A start must be decodable by the new version")
    func start() async throws {
        try await withVersion { world in
            try await world.install("2.1", on: "new")
        } _: { world, _ in
            let refusing = try await refusingVersions { try await world.start(to: World.devices("new")) }
            #expect(refusing == [2])
        }
    }

    @Test("Nobody is started with what its version does not decode")
    func claim() async throws {
        try await withVersion { world in
            try await world.start(to: World.devices("new"))
            try await world.settle()
        } _: { world, other in
            try await other.install("2.1", on: "new", token: "a1")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.startState("new") == "withheld")
        }
    }
}
