import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Registry
import Testing

@testable import Orchestrator

@Suite("Activity types in the registry", .timeLimit(.minutes(2)))
struct TypeTests {
    private let game = ActivityTypeName(stored: "Game")
    private let attributes = #"{"type":"object","properties":{"id":{"type":"string"}}}"#
    private let state = #"{"type":"object","properties":{"score":{"type":"integer"}},"required":["score"]}"#
    private let strict =
        #"{"type":"object","properties":{"score":{"type":"integer"},"clock":{"type":"string"}},"required":["score","clock"]}"#

    private func request(_ state: String, policy: Policy? = nil, least: String? = nil) throws -> TypeRequest {
        TypeRequest(
            source: .schemas(attributes: try json(attributes), contentState: try json(state)),
            policy: policy,
            minAppVersion: least.flatMap { AppVersion($0) }
        )
    }

    @Test("The same schemas again make no version; other ones do; the policy stays where none is given")
    func versions() async throws {
        try await withRegistry { registry, app in
            var policy = Policy()
            policy.startRetrySeconds = 7
            policy.idAttribute = "id"
            let first = try await registry.putType(app, game, request(state, policy: policy), force: false)
            #expect(first.version == 1)
            #expect(first.changed)
            #expect(first.lint.map(\.code) == ["unbounded_string"])
            #expect(first.lint.map(\.pointer.description) == ["/properties/id"])
            #expect(first.compatibility.compatible)
            let again = try await registry.putType(app, game, request(state), force: false)
            #expect(again.version == 1)
            #expect(!again.changed)
            let second = try await registry.putType(app, game, request(strict, least: "2.0"), force: false)
            #expect(second.version == 2)
            #expect(second.changed)
            let least = try await registry.putType(app, game, request(strict, least: "2.1"), force: false)
            #expect(least.version == 2)
            #expect(least.changed)
            let shown = try await registry.type(app, game)
            #expect(shown.version == 2)
            #expect(shown.policy == policy)
            #expect(shown.minAppVersion == AppVersion("2.1"))
            #expect(shown.contentStateSchema == (try json(strict)))
            let listed = try await registry.typeVersions(app, game, PageRequest(limit: 1))
            #expect(listed.items.map(\.version) == [2])
            let rest = try await registry.typeVersions(app, game, PageRequest(limit: 1, cursor: listed.nextCursor))
            #expect(rest.items.map(\.version) == [1])
            #expect(rest.nextCursor == nil)
            #expect(try await registry.types(app, PageRequest()).items == [shown])
        }
    }

    @Test("The context follows a change at once, and tells which version an app decodes")
    func context() async throws {
        try await withRegistry { registry, app in
            #expect(try await problem { _ = try await registry.typeContext(app, game) }?.code == "unknown_type")
            _ = try await registry.putType(app, game, request(state), force: false)
            #expect(try await registry.typeContext(app, game).versions.reachable == [1])
            _ = try await registry.putType(app, game, request(strict, least: "2.0"), force: false)
            let context = try await registry.typeContext(app, game)
            #expect(context.versions.newest == 2)
            #expect(context.version(ofStored: "") == 1)
            #expect(context.version(ofStored: "1.9") == 1)
            #expect(context.version(ofStored: "2.0") == 2)
        }
    }

    @Test("What is not a schema, or does not fit the policy, is 422 with a pointer")
    func refusals() async throws {
        try await withRegistry { registry, app in
            let broken = try await problem {
                _ = try await registry.putType(app, game, request(#"{"type":"nothing"}"#), force: false)
            }
            #expect(broken?.status == 422)
            #expect(broken?.errors.first?.pointer.description.hasPrefix("/content_state_schema") == true)
            var policy = Policy()
            policy.idAttribute = "match"
            let unfit = try await problem {
                _ = try await registry.putType(app, game, request(state, policy: policy), force: false)
            }
            #expect(unfit?.errors.map(\.pointer.description) == ["/policy/id_attribute"])
            let swift = try await problem {
                _ = try await registry.putType(app, game, TypeRequest(source: .swift("struct Game {}")), force: false)
            }
            #expect(swift?.errors.map(\.pointer.description) == ["/swift_source"])
            #expect(try await problem { _ = try await registry.type(app, game) }?.status == 404)
            let nowhere = BundleID(stored: "com.example.none")
            #expect(
                try await problem { _ = try await registry.putType(nowhere, game, request(state), force: false) }?
                    .status == 404
            )
            #expect(try await problem { _ = try await registry.types(nowhere, PageRequest()) }?.status == 404)
        }
    }

    @Test("Schemas that a running activity does not satisfy are 409 unless forced")
    func compatibility() async throws {
        try await withRegistry { registry, app in
            _ = try await registry.putType(app, game, request(state), force: false)
            try await start(#"{"score":1}"#, registry, app)
            let refused = try await problem { _ = try await registry.putType(app, game, request(strict), force: false) }
            #expect(refused?.status == 409)
            #expect(refused?.code == "incompatible_schema")
            #expect(refused?.errors.map(\.code) == ["required_added"])
            #expect(refused?.errors.map(\.pointer.description) == ["/content_state_schema/required"])
            #expect(refused?.errors.map(\.schemaVersion) == [1])
            #expect(try await registry.type(app, game).version == 1)
            let forced = try await registry.putType(app, game, request(strict), force: true)
            #expect(forced.version == 2)
            #expect(!forced.compatibility.compatible)
            #expect(forced.compatibility.findings.map(\.part) == [.contentState])
            // Nothing runs any more: it is told, and registered.
            _ = try await registry.database.execute("UPDATE activities SET state = 'ended', ended_at = now()")
            let told = try await registry.putType(app, game, request(state), force: false)
            #expect(told.version == 3)
            #expect(!told.compatibility.compatible)
        }
    }

    private func start(_ contentState: String, _ registry: Orchestrator, _ app: BundleID) async throws {
        _ = try await registry.database.withConnection { connection in
            try await connection.pipeline([
                """
                INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes, start_body,
                                        started_at)
                VALUES (\(app.rawValue), 'a1', 'production', 'Game', 'tokens', 'live', '{}', '{}', now())
                """,
                """
                INSERT INTO changes (activity_key, revision, kind, content_state, urgency, accepted_at)
                SELECT activity_key, 1, 'start', \(contentState)::json, 'routine', now() FROM activities
                """,
            ])
        }
    }

    @Test("Content is judged without being sent, with pointers and bytes")
    func validation() async throws {
        try await withRegistry { registry, app in
            _ = try await registry.putType(app, game, request(state), force: false)
            let good = try await registry.validate(
                app,
                game,
                ValidationRequest(json: json(#"{"attributes":{"id":"x"},"content_state":{"score":1}}"#))
            )
            #expect(good.valid)
            #expect(good.bytes == .init(attributes: 10, contentState: 11, together: 21))
            #expect(good.lint.isEmpty)
            let doubtful = try await registry.validate(
                app,
                game,
                ValidationRequest(json: json(#"{"attributes":{"ID":"x"},"content_state":{"score":1,"clock":null}}"#))
            )
            #expect(doubtful.valid)
            #expect(
                doubtful.lint.map { "\($0.part.rawValue) \($0.pointer) \($0.code)" } == [
                    "attributes /ID undeclared_key", "content_state /clock undeclared_key",
                    "content_state /clock null_value",
                ]
            )
            let bad = try await registry.validate(
                app,
                game,
                ValidationRequest(json: json(#"{"content_state":{"score":2.5}}"#))
            )
            #expect(!bad.valid)
            #expect(bad.errors.map(\.pointer.description) == ["/content_state/score"])
            #expect(bad.errors.map(\.schemaVersion) == [1])
            let long = String(repeating: "x", count: 4_100)
            let large = try await registry.validate(
                app,
                game,
                ValidationRequest(json: json(#"{"attributes":{"id":"\#(long)"}}"#))
            )
            #expect(large.errors.map(\.code) == ["payload_too_large"])
            let far = try await problem {
                let request = try ValidationRequest(
                    json: json(#"{"attributes":{"id":"\#(long + long + long + long)"}}"#)
                )
                _ = try await registry.validate(app, game, request)
            }
            #expect(far?.code == "payload_too_large")
            let none = ActivityTypeName(stored: "None")
            let missing = try await problem {
                _ = try await registry.validate(app, none, ValidationRequest(json: json(#"{"content_state":{}}"#)))
            }
            #expect(missing?.status == 404)
        }
    }

    @Test("Two first registrations at the same moment make one type")
    func concurrent() async throws {
        try await withRegistry { registry, app in
            let request = try request(state)
            let answers = try await withThrowingTaskGroup(of: TypeRegistration.self) { group in
                for _ in 0..<6 { group.addTask { try await registry.putType(app, game, request, force: false) } }
                var answers: [TypeRegistration] = []
                for try await answer in group { answers.append(answer) }
                return answers
            }
            #expect(answers.filter(\.changed).count == 1)
            #expect(answers.allSatisfy { $0.version == 1 })
        }
    }
}
