import APITypes
import Foundation
import JSON
import JSONSchema
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Sends what the document shows to a running server, and holds the answers against what the document says.
final class DocumentedAPI: Sendable {
    let document: OpenAPIDocument
    private let api: HTTPCaller
    private let operations: [String: OpenAPIDocument.Operation]
    /// What has been sent: an operation, and the name of its example.
    private let sent = Mutex<Set<String>>([])

    init(_ document: OpenAPIDocument, at api: HTTPCaller) {
        self.document = document
        self.api = api
        operations = Dictionary(document.operations.map { ($0.id, $0) }) { first, _ in first }
    }

    /// Sends an example of an operation, with `segments` in place of the braces of its path, and checks the answer.
    @discardableResult
    func send(
        _ id: String,
        _ example: String? = nil,
        _ segments: [String: String] = [:],
        query: String = "",
        status expected: Int = 200,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONValue {
        let operation = try #require(operations[id], "\(id)", sourceLocation: sourceLocation)
        var path = operation.path
        for (name, value) in segments { path = path.replacing("{\(name)}", with: value) }
        let taken = Self.body(of: operation)
        let body = try example.map { name in
            let shown = try #require(
                taken?.content["examples"]?[name]?["value"],
                "\(id) \(name)",
                sourceLocation: sourceLocation
            )
            // Lines are shown as a text.
            return try shown.string.map { Array($0.utf8) } ?? Self.withKey(shown).serialized()
        }
        var headers = ["Accept": "application/json"]
        if body != nil { headers["Content-Type"] = taken?.type }
        sent.withLock { _ = $0.insert("\(id) \(example ?? "-")") }
        let answer = try await api.send(
            operation.method,
            path + query,
            body,
            headers: headers
        )
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(answer.status == expected, "\(id) \(example ?? ""): \(text)", sourceLocation: sourceLocation)
        return try check(answer, to: id, sourceLocation: sourceLocation)
    }

    /// What an operation takes: JSON where it takes several types.
    private static func body(of operation: OpenAPIDocument.Operation) -> (type: String, content: JSONValue)? {
        let types = operation.json["requestBody"]?["content"]?.object?.entries ?? []
        let taken = types.first { $0.0 == "application/json" } ?? types.first
        return taken.map { (type: $0.0, content: $0.1) }
    }

    /// The document names the file of a signing key; the server wants what is in it.
    private static func withKey(_ body: JSONValue) throws -> JSONValue {
        guard let name = body["environments"]?["production"]?["private_key"]?.string else { return body }
        let key = try #require(try TallySystem.signingKey().privateKey)
        let text = body.text.replacing(JSONValue.string(name).text, with: JSONValue.string(key).text)
        return try JSONValue(parsing: text)
    }

    /// Holds an answer to an operation against what the document says, and hands back its body.
    @discardableResult
    func check(
        _ answer: HTTPCaller.Answer,
        to id: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> JSONValue {
        let operation = try #require(operations[id], "\(id)", sourceLocation: sourceLocation)
        let text = String(decoding: answer.body, as: UTF8.self)
        let response = operation.json["responses"]?["\(answer.status)"].map(document.resolved)
        let documented = try #require(response, "\(id) \(answer.status)", sourceLocation: sourceLocation)
        guard let content = documented["content"] else {
            #expect(answer.body.isEmpty, "\(id)", sourceLocation: sourceLocation)
            return .null
        }
        let type = answer[header: "Content-Type"] ?? ""
        let schema = try #require(content[type]?["schema"], "\(id): \(type)", sourceLocation: sourceLocation)
        let isJSON = type == "application/json" || type.hasSuffix("+json")
        let value = isJSON ? answer.json : .string(text)
        #expect(try violations(of: value, schema) == [], "\(id): \(text)", sourceLocation: sourceLocation)
        return value
    }

    /// The answer 200 that is shown for an operation, by its name where there are several.
    func shownAnswer(to id: String, _ name: String) -> JSONValue? {
        let content = operations[id]?.json["responses"]?["200"]?["content"]?["application/json"]
        return content?["example"] ?? content?["examples"]?[name]?["value"]
    }

    /// The operations and examples that were never sent.
    var unsent: Set<String> {
        let all = document.operations.flatMap { operation in
            let examples = Self.body(of: operation)?.content["examples"]?.object?.entries
            return (examples?.map(\.0) ?? ["-"]).map { "\(operation.id) \($0)" }
        }
        return Set(all).subtracting(sent.withLock { $0 })
    }

    /// What is wrong with a value, by a schema of the document.
    func violations(of value: JSONValue, _ schema: JSONValue) throws -> [String] {
        var options = SchemaOptions()
        // OpenAPI has words of its own, such as `example`.
        options.unknownKeywords = .ignore
        options.formats = .assert
        return try CompiledSchema(document.standalone(schema), options: options).validate(value).map(\.line)
    }
}
