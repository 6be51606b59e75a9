import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator

@Suite("Accepting starts", .timeLimit(.minutes(2)))
struct StartRequestTests {
    @Test("The very same start again is a replay, whatever came since; any other is a conflict")
    func replay() async throws {
        try await withWorld { world in
            let first = try await world.start()
            #expect(!first.replay)
            #expect(first.answer.revision == 1)
            #expect(first.answer.timestamp != nil)
            try await world.update(score: 1)
            let again = try await world.start()
            #expect(again.replay)
            #expect(again.answer.revision == 2)
            #expect(try await problem { try await world.start(score: 7) }?.code == "activity_exists")
            #expect(try await problem { try await world.start(delivery: .channel) }?.code == "activity_exists")
            let other = try await problem { try await world.start { $0.attributes["home"] = "France" } }
            #expect(other?.code == "attributes_conflict")
            try await world.end()
            #expect(try await world.start().replay)
            #expect(try await problem { try await world.start(score: 7) }?.code == "activity_exists")
            #expect(
                try await problem { try await world.start { $0.attributes["home"] = "France" } }?.code
                    == "activity_exists"
            )
            #expect(try await world.number("SELECT count(*) FROM changes") == 3)
        }
    }

    @Test("A replay is a replay even if the type would refuse it now")
    func replayAfterTypeChange() async throws {
        try await withWorld { world in
            try await world.start()
            let strict = #"{"type":"object","properties":{"clock":{"type":"string"}},"required":["clock"]}"#
            _ = try await world.orchestrator.putType(
                world.app,
                World.game,
                TypeRequest(source: .schemas(attributes: try json(strict), contentState: try json(strict))),
                force: true
            )
            #expect(try await world.start().replay)
            #expect(try await problem { try await world.start("other") }?.status == 422)
        }
    }

    @Test("Of starts of one id that come at once one is accepted, the others are replays")
    func race() async throws {
        try await withWorld { world in
            let replays = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 1...8 { group.addTask { try await world.start(delivery: .channel).replay } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replays.filter { !$0 }.count == 1)
            #expect(try await world.number("SELECT count(*) FROM channels") == 1)
            #expect(try await world.tables.workRows() == 2)
        }
    }

    @Test("What the type or Apple would refuse is refused, and nothing is kept")
    func refusals() async throws {
        try await withWorld { world in
            func code(_ start: () async throws -> Void) async throws -> String? { try await problem(start)?.code }
            #expect(
                try await code { try await world.start { $0.type = ActivityTypeName(stored: "Other") } }
                    == "unknown_type"
            )
            #expect(try await code { try await world.start { $0.attributes = JSONObject() } } == "invalid_attributes")
            #expect(
                try await code { try await world.start { $0.contentState = JSONObject() } } == "invalid_content_state"
            )
            #expect(try await code { try await world.start(to: World.devices("d1"), alert: nil) } == "alert_required")
            #expect(try await code { try await world.start { $0.environment = .sandbox } } == "invalid_request")
            #expect(
                try await code {
                    try await world.start { $0.attributes["home"] = .string(String(repeating: "x", count: 4100)) }
                } == "payload_too_large"
            )
            let past = try await problem { try await world.start { $0.endsAt = Instant(microseconds: 1) } }
            #expect(past?.errors.map(\.pointer.description) == ["/ends_at"])
            #expect(try await world.number("SELECT count(*) FROM activities") == 0)
            let other = World(orchestrator: world.orchestrator, app: BundleID(stored: "com.example.none"))
            #expect(try await problem { try await other.start() }?.status == 404)
        }
    }

    @Test("The policy's alert starts whom the caller names without one, and its id attribute is filled")
    func policy() async throws {
        try await withWorld(policy: {
            $0.startAlert = World.alert("Policy")
            $0.idAttribute = "home"
        }) { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"), alert: nil) { $0.attributes = JSONObject() }
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.alert == "Policy")
            #expect(push.aps["attributes"]?.object?["home"]?.string == "final")
            let differs = try await problem { try await world.start("other") }
            #expect(differs?.code == "invalid_attributes")
        }
    }

    @Test("Digits pass through as they were written")
    func digits() async throws {
        try await withWorld { world in
            let score = try #require(JSONNumber(digits: "1.0"))
            try await world.start { $0.contentState["score"] = .number(score) }
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(String(decoding: push.bytes, as: UTF8.self).contains(#""content-state":{"score":1.0}"#))
        }
    }
}
