import ActivityModel
import Foundation
import JSON
import SystemSupport
import TestSupport
import Testing

/// Versions of a type, as a backend and an operator see them.
@Suite("Versions of a type", .timeLimit(.minutes(5)))
struct TypeVersionTests {
    private static let type = "/v1/apps/\(TallySystem.app)/types/Score"
    private static let activities = "/v1/apps/\(TallySystem.app)/activities"

    private static func request(_ contentState: String, from least: String? = nil) -> [UInt8] {
        let version = least.map { #","min_app_version":"\#($0)""# } ?? ""
        return Array(
            #"{"attributes_schema":{"type":"object"},"content_state_schema":\#(contentState)\#(version)}"#.utf8
        )
    }

    private static let first = #"{"type":"object","properties":{"goals":{"type":"integer"}},"required":["goals"]}"#
    private static let second =
        #"{"type":"object","properties":{"goals":{"type":"integer"},"clock":{"type":"string"}},"required":["goals","clock"]}"#

    @Test("a registration answers with the list of what it breaks, content with the version that refuses it")
    func answers() async throws {
        try await TallySystem.with { system in
            let api = system.api()
            let document = DocumentedAPI(
                try await OpenAPIDocument(yaml: Places.document("openapi.yaml").path),
                at: api
            )
            func call(
                _ id: String,
                _ method: String,
                _ path: String,
                _ body: [UInt8],
                status: Int,
                _ location: SourceLocation = #_sourceLocation
            ) async throws -> JSONValue {
                let answer = try await api.send(method, path, body)
                #expect(answer.status == status, "\(answer.json.text)", sourceLocation: location)
                return try document.check(answer, to: id, sourceLocation: location)
            }

            let registered = try await call("putType", "PUT", Self.type, Self.request(Self.first), status: 200)
            #expect(registered["version"] == 1)
            #expect(registered["changed"] == true)
            #expect(registered["compatibility"] == ["compatible": true, "findings": []])
            #expect(registered["lint"] == [])
            let again = try await call("putType", "PUT", Self.type, Self.request(Self.first), status: 200)
            #expect(again["version"] == 1)
            #expect(again["changed"] == false)

            let start = Array(
                #"{"type":"Score","attributes":{},"content_state":{"goals":0},"environment":"production"}"#.utf8
            )
            _ = try await call("startActivity", "PUT", Self.activities + "/final", start, status: 202)
            let refused = try await call("putType", "PUT", Self.type, Self.request(Self.second), status: 409)
            #expect(refused["code"] == "incompatible_schema")
            let error = try #require(refused["errors"]?.array?.first { $0["code"] == "required_added" })
            #expect(error["pointer"] == "/content_state_schema/required")
            #expect(error["schema_version"] == 1)
            #expect(error["message"]?.string?.contains("'final'") == true)
            let path = Self.type + "?force=true"
            let forced = try await call("putType", "PUT", path, Self.request(Self.second, from: "2.0"), status: 200)
            #expect(forced["version"] == 2)
            #expect(forced["lint"]?.array?.contains { $0["code"] == "unbounded_string" } == true)
            #expect(forced["compatibility"]?["compatible"] == false)
            let finding = try #require(
                forced["compatibility"]?["findings"]?.array?.first { $0["code"] == "required_added" }
            )
            #expect(finding["schema"] == "content_state")
            #expect(finding["severity"] == "breaking")
            #expect(finding["schema_version"] == 1)

            let phone = Array(#"{"environment":"production","app_version":"2.1","update_token":"aa01"}"#.utf8)
            _ = try await call("subscribe", "PUT", Self.activities + "/final/subscriptions/new", phone, status: 200)
            let old = Array(#"{"content_state":{"goals":1}}"#.utf8)
            let update = Self.activities + "/final/updates"
            // The newest state is withheld from that phone already, so the version holds nothing back.
            _ = try await call("updateActivity", "POST", update, old, status: 202)
            let both = Array(#"{"content_state":{"goals":1,"clock":"45:00"}}"#.utf8)
            _ = try await call("updateActivity", "POST", update, both, status: 202)
            let invalid = try await call("updateActivity", "POST", update, old, status: 422)
            #expect(invalid["code"] == "invalid_content_state")
            #expect(invalid["errors"]?.array?.map { $0["schema_version"] } == [2])
            #expect(invalid["errors"]?.array?.map { $0["code"] } == ["required"])

            let retire = Array(#"{"retired":true}"#.utf8)
            let retired = try await call("putTypeVersion", "PUT", Self.type + "/versions/1", retire, status: 200)
            #expect(retired["version"] == 1)
            #expect(retired["retired_at"]?.string != nil)
            let newest = try await call("putTypeVersion", "PUT", Self.type + "/versions/2", retire, status: 409)
            #expect(newest["code"] == "newest_version")
            _ = try await call("putTypeVersion", "PUT", Self.type + "/versions/3", retire, status: 404)
            let undo = Array(#"{"retired":false}"#.utf8)
            let back = try await call("putTypeVersion", "PUT", Self.type + "/versions/1", undo, status: 200)
            #expect(back["retired_at"] == nil)
        }
    }

    @Test(
        "a version that lets in what apps which follow could not decode is refused with the list, and forced over HTTP and with tally"
    )
    func widening() async throws {
        func phases(_ values: String) -> String {
            #"{"type":"object","properties":{"phase":{"enum":[\#(values)]}},"required":["phase"]}"#
        }
        try await TallySystem.with { system in
            let api = system.api()
            let document = DocumentedAPI(try await OpenAPIDocument(yaml: Places.document("openapi.yaml").path), at: api)
            let wider = phases(#""first","second","extra""#)
            _ = try await api.call("PUT", Self.type, try JSONValue.parse(Self.request(phases(#""first","second""#))))
            _ = try await api.call(
                "PUT",
                Self.activities + "/final",
                ["type": "Score", "attributes": [:], "content_state": ["phase": "first"], "environment": "production"]
            )
            _ = try await api.call(
                "PUT",
                Self.activities + "/final/subscriptions/old",
                ["environment": "production", "app_version": "1.4", "update_token": "aa01"]
            )
            let answer = try await api.send("PUT", Self.type, Self.request(wider, from: "2.0"))
            #expect(answer.status == 409)
            let refused = try document.check(answer, to: "putType")
            #expect(refused["code"] == "incompatible_schema")
            let error = try #require(refused["errors"]?.array?.first)
            #expect(error["pointer"] == "/content_state_schema/properties/phase/enum")
            #expect(error["code"] == "enum_widened")
            #expect(error["schema_version"] == 1)
            #expect(error["message"]?.string?.hasSuffix("is refused while apps of version 1.4 follow 'final'") == true)

            func put(_ options: String...) async throws -> (RunningProgram.Ending, String, String) {
                var files: [String] = []
                for (name, schema) in [("attributes", #"{"type":"object"}"#), ("content-state", wider)] {
                    let file = system.folder.path(name + ".json")
                    try Data(schema.utf8).write(to: URL(fileURLWithPath: file))
                    files += ["--\(name)-schema", file]
                }
                return try await RunningProgram.run(
                    "tally",
                    ["types", "put", "Score"] + files + ["--min-app-version", "2.0"] + options,
                    environment: [
                        "TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey,
                        "TALLY_APP": TallySystem.app.rawValue,
                    ],
                    in: system.folder
                )
            }
            let (ending, _, errors) = try await put()
            #expect(ending == .exited(1))
            #expect(errors.contains("/content_state_schema/properties/phase/enum: enum_widened: "))
            #expect(errors.contains("apps of version 1.4 follow 'final' (schema version 1)"))
            #expect(try await api.call("GET", Self.type)["version"] == 1)
            let forced = try await put("--force")
            #expect(forced.0 == .exited(0), "\(forced.2)")
            #expect(forced.1.contains("apps of version 1.4 follow 'final'"))
            #expect(try await api.call("GET", Self.type)["version"] == 2)
        }
    }

    @Test("tally types diff compares a file with the version that is registered")
    func difference() async throws {
        try await TallySystem.with { system in
            _ = try await system.api().call("PUT", Self.type, try JSONValue.parse(Self.request(Self.first)))
            func types(
                _ command: String,
                _ contentState: String,
                _ options: String...
            ) async throws -> (RunningProgram.Ending, String) {
                let file = system.folder.path("Score.json")
                try Data(Self.request(contentState)).write(to: URL(fileURLWithPath: file))
                let (ending, output, errors) = try await RunningProgram.run(
                    "tally",
                    ["types", command, file, "--type", "Score"] + options,
                    environment: [
                        "TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey,
                        "TALLY_APP": TallySystem.app.rawValue,
                    ],
                    in: system.folder
                )
                #expect(errors.isEmpty, "\(errors)")
                return (ending, output)
            }
            let same = try await types("diff", Self.first)
            #expect(same.0 == .exited(0))
            #expect(same.1 == "Both versions are the same.")
            let breaking = try await types("diff", Self.second)
            #expect(breaking.0 == .exited(1))
            #expect(breaking.1.contains("breaks content made for the earlier version"))
            let json = try await types("diff", Self.second, "--json")
            #expect(json.0 == .exited(1))
            let differences = try JSONValue(parsing: json.1)["differences"]?.array ?? []
            let added = try #require(differences.first { $0["code"] == "required_added" })
            #expect(added["schema"] == "content_state")
            #expect(added["pointer"] == "/required")
            #expect(added["breaks"] == ["earlier_content"])
            let lint = try await types("lint", Self.second, "--json")
            #expect(lint.0 == .exited(0))
            #expect(try JSONValue(parsing: lint.1)["largest_bytes"] != nil)
            for text in [json.1, lint.1] { #expect(!text.contains("\n"), "what no person reads is one line") }
            // Nothing was registered by that.
            #expect(try await system.api().call("GET", Self.type)["version"] == 1)
        }
    }
}
