import APITypes
import ActivityModel
import Foundation
import JSON
import Postgres
import SystemSupport
import TestSupport
import Testing

/// Texts that would be commands somewhere, in every place of the API that takes a text: made from its document, so that
/// what is added is tried, too.
@Suite("Hostile texts in every field", .timeLimit(.minutes(8)))
struct TextFieldTests {
    /// Stands in requests for what JSON cannot say, until they are bytes.
    private static let lone = "lone-surrogate"
    private static let noUTF8 = "no-utf-8"

    private static let texts = [
        "'; DROP TABLE devices CASCADE; --", "\" OR \"1\"=\"1", "\\'; DELETE FROM apps; --", "$1",
        "$$; SELECT pg_sleep(60); $$",
        "%s%n%00", "\\", "E'\\x00'", "a\0b", "\0", "\u{FEFF}\u{202E}\u{1F600}e\u{301}", "{\"$ref\":\"#\"}",
        "../../etc/passwd", "",
        "\r\nX-Injected: yes", String(repeating: "x", count: 3_000), lone, noUTF8,
    ]

    @Test("Every request is taken or refused, none breaks the server, and what belongs to others stays as it was")
    func everyField() async throws {
        try await TallySystem.with { system in
            let document = try await OpenAPIDocument(yaml: Places.document("openapi.yaml").path)
            try await plantBystander(system, document)
            let before = try await bystander(system)
            let tables = try await tables(system)
            #expect(before.count == 6)
            var statuses: [Int: Int] = [:]
            for (operation, request) in document.operations.flatMap({ operation in
                requests(of: operation, document).map { (operation, $0) }
            }) {
                // What is accepted is kept for the same day's pushes; nobody follows, so nothing leaves.
                let answer = try await system.api().send(
                    operation.method,
                    request.path,
                    request.body,
                    headers: ["Accept": "application/json"].merging(request.headers) { $1 }
                )
                statuses[answer.status, default: 0] += 1
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(answer.status < 500, "\(operation.id) \(request.what): \(text)")
                if request.hasNUL { #expect(answer.status >= 400, "\(operation.id) \(request.what): \(text)") }
                #expect(answer[header: "X-Injected"] == nil, "\(operation.id) \(request.what)")
            }
            #expect(statuses.values.reduce(0, +) > 2_000, "\(statuses)")
            // Many texts are no ids, and some are names like any other.
            #expect((statuses[422] ?? 0) > 500 && (statuses[400] ?? 0) > 50, "\(statuses)")
            #expect(statuses.contains { (200..<300).contains($0.key) && $0.value > 50 }, "\(statuses)")
            #expect(try await bystander(system) == before)
            #expect(try await self.tables(system) == tables)
            try await takesNamesAsTheyAre(system)
            try await worksAfterwards(system)
        }
    }

    /// What was taken stands in nobody's way: a user can be erased, and a start reaches a phone.
    private func worksAfterwards(_ system: TallySystem) async throws {
        let api = system.api()
        let hostile = "/v1/apps/com.example.hostile"
        try await api.call("DELETE", hostile + "/users/u1")
        let device: JSONValue = [
            "environment": "production", "os_version": "18.1", "start_tokens": ["GameAttributes": ["token": "00bb"]],
        ]
        try await api.call("PUT", hostile + "/devices/d-last", device)
    }

    // MARK: Requests

    private struct Request {
        let what: String
        let path: String
        var body: [UInt8]?
        var headers: [String: String] = [:]

        /// Whether the body has an escaped U+0000.
        var hasNUL: Bool { body.map { String(decoding: $0, as: UTF8.self).contains("\\u0000") } ?? false }
    }

    /// The operation with one hostile text at a time: in a step of its path, a parameter of its query, a header field,
    /// or any text or name in its examples.
    private func requests(of operation: OpenAPIDocument.Operation, _ document: OpenAPIDocument) -> [Request] {
        let parameters = (operation.json["parameters"]?.array ?? []).map(document.resolved)
        let names = { (place: String) in
            parameters.filter { $0["in"]?.string == place }.compactMap { $0["name"]?.string }
        }
        let path = names("path").reduce(operation.path) { $0.replacing("{\($1)}", with: Self.usual[$1] ?? "x") }
        let examples =
            (operation.json["requestBody"]?["content"]?["application/json"]?["examples"]?.object?.entries ?? [])
            .compactMap { $0.1["value"] }
        var requests: [Request] = []
        for text in Self.texts {
            for name in names("path") {
                let others = names("path").filter { $0 != name }
                let path = others.reduce(operation.path) { $0.replacing("{\($1)}", with: Self.usual[$1] ?? "x") }
                    .replacing("{\(name)}", with: Self.escaped(text))
                requests.append(Request(what: "\(name)=\(text)", path: path, body: examples.first?.serialized()))
            }
            for name in names("query") {
                let query = "?\(name)=\(Self.escaped(text))"
                requests.append(Request(what: query, path: path + query, body: examples.first?.serialized()))
            }
            for name in names("header") where text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
                let headers = [name: text]
                requests.append(
                    Request(what: "\(name): \(text)", path: path, body: examples.first?.serialized(), headers: headers)
                )
            }
            for body in examples.flatMap({ Self.variants(of: $0, text) }) {
                // An id that is taken would be answered before the rest is looked at.
                let isStart = operation.id == "startActivity"
                let path = isStart ? path.replacing("/a1", with: "/start-\(requests.count)-\(text.utf8.count)") : path
                requests.append(Request(what: body.text, path: path, body: Self.bytes(body)))
            }
        }
        return requests
    }

    private static let usual = [
        "bundle_id": "com.example.hostile", "type": "GameAttributes", "activity_id": "a1", "device_id": "d1",
        "user_id": "u1",
        "channel_id": "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11", "schedule_id": "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11",
        "api_key_id": "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11", "version": "1", "environment": "production",
    ]

    /// The value with the text in place of one of its texts or names.
    private static func variants(of value: JSONValue, _ text: String) -> [JSONValue] {
        var variants: [JSONValue] = []
        switch value {
        case .string: variants.append(.string(text))
        case .array(let items):
            for (place, item) in items.enumerated() {
                for changed in self.variants(of: item, text) {
                    var items = items
                    items[place] = changed
                    variants.append(.array(items))
                }
            }
        case .object(let object):
            for (key, member) in object.entries {
                let renamed = object.entries.map { ($0.key == key ? text : $0.key, $0.value) }
                variants.append(.object(JSONObject(renamed)))
                for changed in self.variants(of: member, text) {
                    var object = object
                    object[key] = changed
                    variants.append(.object(object))
                }
            }
        case .null, .bool, .number: break
        }
        return variants
    }

    private static func bytes(_ body: JSONValue) -> [UInt8] {
        let pieces = body.text.replacing(lone, with: "\\ud800").split(
            separator: noUTF8,
            omittingEmptySubsequences: false
        )
        return Array(pieces.map { Array($0.utf8) }.joined(separator: [0xFF, 0xC0, 0x80]))
    }

    private static func escaped(_ text: String) -> String {
        if text == noUTF8 { return "%FF%C0%80" }
        if text == lone { return "%ED%A0%80" }
        let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
        return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }

    // MARK: Whoever has nothing to do with it

    /// The app of the samples, which no request names.
    private func plantBystander(_ system: TallySystem, _ document: OpenAPIDocument) async throws {
        let path = "/v1/apps/\(TallySystem.app)"
        let api = system.api()
        try await api.call("PUT", path + "/activities/bystander", HonestyWorld.start(devices: ["by-1"]))
        let device: JSONValue = ["environment": "production", "user_id": "by", "device_token": "00aa"]
        try await api.call("PUT", path + "/devices/by-1", device)
        let key = try #require(try TallySystem.signingKey().privateKey)
        let app: JSONValue = [
            "team_id": "ABCDE12345",
            "environments": ["production": ["key_id": "KEY1234567", "private_key": .string(key)]],
        ]
        try await api.call("PUT", "/v1/apps/com.example.hostile", app)
        // What the examples are about, in the app that is asked for.
        let hostile = "/v1/apps/com.example.hostile"
        func example(_ operation: String, _ name: String) -> JSONValue? {
            let operation = document.operations.first { $0.id == operation }
            return operation?.json["requestBody"]?["content"]?["application/json"]?["examples"]?[name]?["value"]
        }
        try await api.call("PUT", hostile + "/types/GameAttributes", example("putType", "schemas"))
        try await api.call("PUT", hostile + "/activities/a1", example("startActivity", "match"))
        try await api.call("PUT", hostile + "/devices/d1", ["environment": "production"])
    }

    /// All that is kept of it, but for how far its start has come.
    private func bystander(_ system: TallySystem) async throws -> Set<String> {
        var kept: Set<String> = []
        for table in ["apps", "signing_keys", "activity_types", "type_versions", "devices"] {
            let rows = try await system.database.query(
                "SELECT row_to_json(t)::text FROM \(identifier: table) AS t WHERE bundle_id = \(TallySystem.app.rawValue)"
            )
            kept.formUnion(try rows.decoded(as: String.self))
        }
        let activities = try await system.database.query(
            """
            SELECT json_build_array(activity_id, type_name, state, revision, attributes)::text FROM activities
            WHERE bundle_id = \(TallySystem.app.rawValue)
            """
        )
        return kept.union(try activities.decoded(as: String.self))
    }

    private func tables(_ system: TallySystem) async throws -> [String] {
        try await system.database.query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND NOT relispartition ORDER BY 1"
        ).decoded(as: String.self)
    }

    /// A name may be any text, and comes back as it went.
    private func takesNamesAsTheyAre(_ system: TallySystem) async throws {
        let names = Self.texts.filter { name in
            (1...128).contains(name.unicodeScalars.count)
                && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
        #expect(names.count > 5)
        for name in names {
            let made = try await system.api().call("POST", "/v1/api-keys", ["name": .string(name), "scopes": ["read"]])
            #expect(made["name"] == .string(name))
        }
        let kept = try await system.database.query("SELECT name FROM api_keys").decoded(as: String.self)
        for name in names { #expect(kept.contains { JSONValue.string($0) == .string(name) }, "\(name)") }
    }
}
