import APITypes
import Foundation
import HTTPTypes
import JSON
import TestSupport
import Testing

@testable import HTTPAPI

/// The document says of every route what the table says, and of no other.
@Suite("The OpenAPI document", .timeLimit(.minutes(2)))
struct OpenAPITests {
    private static let file = URL(filePath: #filePath).appending(path: "../../../docs/openapi.yaml").standardized

    private static let table = RouteTable.api(service: RecordingService(), metrics: PrometheusMetrics())

    @Test("It has every route, and no other")
    func routes() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        let documented = document.operations.map { "\($0.method) \($0.path)" }
        #expect(Set(documented) == Set(Self.table.routes.map { "\($0.method) \($0.path)" }))
        #expect(Set(document.operations.map(\.id)).count == document.operations.count)
    }

    @Test("Every reference leads to something")
    func references() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        let references = Self.references(in: document.json)
        #expect(references.count > 100)
        for reference in Set(references) {
            let pointer = reference.hasPrefix("#") ? JSONPointer(String(reference.dropFirst())) : nil
            #expect(pointer.flatMap { document.json[$0] } != nil, "\(reference)")
        }
    }

    private static func references(in value: JSONValue) -> [String] {
        if let items = value.array { return items.flatMap { references(in: $0) } }
        return (value.object?.entries ?? []).flatMap { key, inner in
            if key == "$ref", let reference = inner.string { return [reference] }
            return references(in: inner)
        }
    }

    @Test("It says of each what it takes and whom it lets in")
    func terms() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        for operation in document.operations {
            let method = try #require(HTTPRequest.Method(operation.method))
            let route = try #require(Self.table.match(method, path: operation.path).route)
            let parameters = (operation.json["parameters"]?.array ?? []).map(document.resolved)
            let query = parameters.filter { $0["in"]?.string == "query" }.compactMap { $0["name"]?.string }
            #expect(Set(query) == route.query, "\(operation.id)")
            let bodies = operation.json["requestBody"]?["content"]?.object?.entries.map(\.0) ?? []
            #expect(bodies.isEmpty == !(route.takesBody || route.takesLines), "\(operation.id)")
            #expect(bodies.contains("application/x-ndjson") == route.takesLines, "\(operation.id)")
            let described = operation.json["description"]?.string ?? ""
            switch route.access {
            case .open: #expect(operation.json["security"] == [], "\(operation.id)")
            case .scope(let scope): #expect(described.contains("Scope: `\(scope.rawValue)`."), "\(operation.id)")
            case .anyScope(let scopes):
                #expect(scopes.allSatisfy { described.contains("`\($0.rawValue)`") }, "\(operation.id)")
            case .registration:
                #expect(described.contains("Scope: `register`, or a ticket."), "\(operation.id)")
                #expect(operation.json["security"] == [["key": []], ["ticket": []]], "\(operation.id)")
            case .ticket: Issue.record("\(operation.id): a listener for phones is not the API")
            case .unboundAdmin: #expect(described.contains("bound to no app. Scope: `admin`."), "\(operation.id)")
            }
        }
    }

    @Test("It describes every operation, parameter, answer, schema and field")
    func descriptions() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        func isDescribed(_ value: JSONValue) -> Bool {
            [value, document.resolved(value)].contains { $0["description"]?.string?.isEmpty == false }
        }
        for operation in document.operations {
            #expect(isDescribed(operation.json), "\(operation.id)")
            for parameter in operation.json["parameters"]?.array ?? [] {
                #expect(isDescribed(parameter), "\(operation.id): \(parameter.text)")
            }
            for (status, answer) in operation.json["responses"]?.object?.entries ?? [] {
                #expect(isDescribed(answer), "\(operation.id): \(status)")
            }
        }
        let schemas = document.json["components"]?["schemas"]?.object?.entries ?? []
        #expect(schemas.count > 100)
        for (name, schema) in schemas {
            #expect(isDescribed(schema), "\(name)")
            for (key, property) in schema["properties"]?.object?.entries ?? [] {
                #expect(isDescribed(property), "\(name).\(key)")
            }
        }
    }

    @Test("It says of every POST whether a key makes it happen once, and the routes do as it says")
    func idempotency() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        let tooLong: HTTPFields = [.idempotencyKey: String(repeating: "k", count: 256)]
        for route in RouteCase.all where route.method == .post {
            let template = Self.table.match(.post, path: String(route.path.prefix { $0 != "?" })).route?.path
            let operation = try #require(document.operations.first { $0.method == "POST" && $0.path == template })
            let parameters = (operation.json["parameters"]?.array ?? []).map(document.resolved)
            let takesKey = parameters.contains { $0["name"] == "Idempotency-Key" }
            let described = operation.json["description"]?.string ?? ""
            #expect(takesKey || described.contains("`Idempotency-Key`"), "\(operation.id)")
            let answer = try await API().send(.post, route.path, body: route.body, headers: tooLong)
            #expect(answer.code == (takesKey ? "invalid_request" : "reached"), "\(operation.id)")
        }
    }

    @Test("It says of whatever asks for a key that there may be too many requests, and of nothing else")
    func limits() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        for operation in document.operations {
            let tooMany = operation.json["responses"]?["429"].map(document.resolved)
            #expect((tooMany == nil) == (operation.json["security"] == []), "\(operation.id)")
            if let tooMany { #expect(tooMany["headers"]?["Retry-After"] != nil, "\(operation.id)") }
        }
    }

    @Test("It is served as it is, to everybody")
    func served() async throws {
        let answer = try await API().send(.get, "/openapi.yaml", key: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/yaml")
        #expect(answer.body == (try String(contentsOf: Self.file, encoding: .utf8)))
    }

    /// Nobody else can make one: the initializer of `Problem` is not for other modules.
    @Test("It has an example of every problem that the API can answer, and says with which statuses")
    func problems() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        let answers = document.json["components"]?["responses"]?.object?.entries ?? []
        let examples = answers.flatMap { _, answer in
            answer["content"]?["application/problem+json"]?["examples"]?.object?.entries ?? []
        }
        for (name, example) in examples {
            #expect(example["value"]?["code"]?.string == name)
            // As it is answered, its title included.
            let problem = try Problem(json: #require(example["value"]))
            #expect(problem.json["title"] == example["value"]?["title"], "\(name)")
        }
        let folder = Self.file.appending(path: "../../Sources/APITypes/Problems").standardized
        let texts = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { try String(contentsOf: $0, encoding: .utf8) }
        // A code stands where its problem is made, or has a name.
        let named = texts.flatMap { $0.matches(of: /static let ([A-Za-z]+) = "([a-z_]+)"/) }
            .map { (name: $0.output.1, code: $0.output.2) }
        let conflicts = texts.flatMap { $0.matches(of: /conflict\(\s*"([a-z_]+)"/) }.map { "409 \($0.output.1)" }
        let others = try texts.flatMap { $0.matches(of: /Problem\(([0-9]+), (?:"([a-z_]+)"|Code\.([A-Za-z]+))/) }
            .map { match in
                let code = match.output.2 ?? named.first { $0.name == match.output.3 }?.code
                return "\(match.output.1) \(try #require(code))"
            }
        let codes = conflicts + others
        #expect(codes.count > 30)
        let documented = examples.map { "\($0.1["value"]?["status"]?.int64 ?? 0) \($0.0)" }
        #expect(Set(codes) == Set(documented))
        // All of them in one table, each with its meaning.
        let table = document.json["components"]?["schemas"]?["Problem"]?["description"]?.string ?? ""
        let rows = table.matches(of: /\| `([a-z_]+)` \| ([0-9]+) \| [A-Z`]/).map { "\($0.output.2) \($0.output.1)" }
        #expect(rows.sorted() == Set(codes).sorted())
    }
}
