import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import SwiftImporter
import Testing

@testable import Orchestrator
@testable import Registry

@Suite("Content of types that came from Swift", .timeLimit(.minutes(2)))
struct SwiftTypeTests {
    private static let source = """
        struct Game: ActivityAttributes {
            struct ContentState: Codable, Hashable {
                var score: Int
                var kickoff: Date?
            }
            let home: String
            var opened: Date?
        }
        """

    private func register(_ world: World) async throws {
        let request = TypeRequest(source: .swift(Self.source))
        _ = try await world.orchestrator.putType(world.app, ActivityTypeName(stored: "Game"), request, force: true)
    }

    @Test("A time is stored and sent as what the phone decodes; the digits of numbers stay")
    func dates() async throws {
        try await withWorld { world in
            try await register(world)
            let start: (inout StartRequest) -> Void = { request in
                request.type = ActivityTypeName(stored: "Game")
                request.attributes["opened"] = "2026-11-21T18:00:00+01:00"
                request.contentState["kickoff"] = "2026-11-21T17:00:00.250Z"
            }
            try await world.start("final", start)
            #expect(try await world.start("final", start).replay)
            let stored: Query = "SELECT a.attributes->>'opened' FROM activities AS a"
            #expect(try await world.word(stored) == "816973200")
            let kickoff: Query = "SELECT content_state->>'kickoff' FROM changes ORDER BY revision DESC LIMIT 1"
            #expect(try await world.word(kickoff) == "816973200.25")
            try await world.update(score: 1) { request in
                request.contentState["kickoff"] = JSONNumber(digits: "816973200.500").map(JSONValue.number)
            }
            #expect(try await world.word(kickoff) == "816973200.500")
            try await world.update(score: 2) { $0.contentState["kickoff"] = "2001-01-01T00:00:01Z" }
            #expect(try await world.word(kickoff) == "1")
        }
    }

    @Test("A date that reads as UNIX time is refused with a hint, and nothing changes")
    func unixTime() async throws {
        try await withWorld { world in
            try await register(world)
            try await world.start { $0.type = ActivityTypeName(stored: "Game") }
            let refused = try await problem {
                try await world.update(score: 1) { $0.contentState["kickoff"] = 1_795_280_400 }
            }
            #expect(refused?.code == "invalid_content_state")
            #expect(refused?.errors.map(\.pointer.description) == ["/kickoff"])
            #expect(refused?.errors.first?.message.contains("UNIX") == true)
            #expect(try await world.number("SELECT count(*) FROM changes") == 1)
        }
    }

    @Test("A date far ahead starts an activity and is sent to those that follow it, like any other")
    func farAhead() async throws {
        try await withWorld { world in
            try await register(world)
            try await world.register("d1", token: "aa01")
            let far: JSONValue = "2099-12-31T23:59:59Z"
            try await world.start(to: World.devices("d1")) { request in
                request.attributes["opened"] = far
                request.contentState["kickoff"] = far
            }
            try await world.settle()
            let start = try #require(world.recorder.take().first)
            #expect(start.destination == "aa01")
            #expect(start.aps["content-state"]?["kickoff"] == 3_124_137_599)
            #expect(start.aps["attributes"]?["opened"] == 3_124_137_599)
            try await world.follow("d2", token: "aa02")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
            #expect(try await world.show().progress.withheld == 0)
        }
    }

    private func schemas(_ source: String, supplied: [String: JSONValue] = [:]) async throws -> TypeSchemas {
        let name = ActivityTypeName(stored: "Game")
        return try await TypeSchemas(.swift(source, supplied: supplied), of: name, SwiftImporter())
    }

    @Test("What is wrong in a Swift source is 422 with line and column, and names what may be supplied")
    func refusals() async throws {
        let source = "struct Game: ActivityAttributes {\n  struct ContentState: Codable { var a: Money }\n}"
        let refused = try await problem { _ = try await schemas(source) }
        #expect(refused?.status == 422)
        #expect(refused?.errors.map(\.pointer.description) == ["/swift_source"])
        #expect(refused?.errors.first?.message.hasPrefix("line 2, column 41: what 'Money' encodes as") == true)
        let match = Self.source.replacing("struct Game", with: "struct Match")
        let other = try await problem { _ = try await schemas(match) }
        #expect(other?.errors.first?.message.contains("there are: Match") == true)
    }

    @Test("Schemas are supplied for what the source cannot explain, and what is wrong with one is said at its place")
    func supplied() async throws {
        let source = "struct Game: ActivityAttributes {\n  struct ContentState: Codable { var price: Money }\n}"
        let pattern = "^[0-9]+ EUR$"
        let known = try await schemas(source, supplied: ["Money": ["type": "string", "pattern": .string(pattern)]])
        #expect(known.contentStateDocument.text.contains(pattern))
        let refused = try await problem {
            _ = try await schemas(source, supplied: ["Money": ["type": "string", "maxLength": -1]])
        }
        #expect(refused?.status == 422)
        #expect(refused?.errors.map(\.pointer.description) == ["/supplied_schemas/Money/maxLength"])
    }
}
