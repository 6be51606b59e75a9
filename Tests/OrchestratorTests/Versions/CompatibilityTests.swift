import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator
@testable import Registry

@Suite("A new version beside the earlier ones and what runs", .timeLimit(.minutes(2)))
struct CompatibilityTests {
    @Test("It breaks however many newer activities run")
    func oldest() async throws {
        try await withWorld { world in
            try await world.start("oldest") { $0.contentState["sets"] = 1 }
            // The page is full without it, and the newest page is tried again under the lock.
            for number in 0..<RunningPage.size { try await world.start("newer-\(number)") }
            let schema = #"{"type":"object","properties":{"score":{},"sets":{"type":"string"}}}"#
            let refused = try #require(try await problem { try await world.registerVersion(schema, from: nil) })
            #expect(refused.code == "incompatible_schema")
            #expect(refused.errors.contains { $0.message.contains("the activity 'oldest' does not satisfy it") })
        }
    }

    @Test("Phones that decode another version by a new one are judged anew at once")
    func rejudged() async throws {
        try await withWorld { world in
            try await world.install("2.1", on: "new")
            try await world.start()
            try await world.follow("new", token: "aa01")
            try await world.settle()
            _ = world.recorder.take()
            try await world.registerVersion(force: true)
            try await world.settle()
            #expect(try await world.subscription("new") == "withheld")
            #expect(try await refusingVersions { try await world.updateOld(score: 2) } == nil)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").isEmpty)
            // For newer apps only after all: the phone decodes the first version again.
            let answer = try await world.registerVersion(from: "3.0")
            #expect(answer.version == 2)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [2])
            // And back again, which would take away the state that it shows.
            let refused = try await problem { try await world.registerVersion(from: "2.0") }
            #expect(refused?.code == "incompatible_schema")
            #expect(refused?.errors.map(\.code) == ["incompatible_version"])
            #expect(try await world.subscription("new") == "riding")
        }
    }

    @Test("Content is judged by all versions that are not retired when nothing is sent")
    func validation() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            func versions(_ content: String) async throws -> [Int?] {
                try await world.orchestrator.validate(
                    world.app,
                    World.game,
                    ValidationRequest(json: json(#"{"content_state":\#(content)}"#))
                ).errors.map(\.schemaVersion)
            }
            #expect(try await versions(#"{"score":1,"clock":"1"}"#) == [])
            #expect(try await versions(#"{"score":1}"#) == [2])
            #expect(try await versions(#"{"score":1,"clock":"1","note":1}"#) == [1])
            try await world.retire(1)
            #expect(try await versions(#"{"score":1,"clock":"1","note":1}"#) == [])
        }
    }
}
