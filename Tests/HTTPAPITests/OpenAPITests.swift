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

    private static let table = RouteTable.api(
        service: RecordingService(),
        metrics: PrometheusMetrics(),
        readiness: { .init(isReady: true) }
    )

    @Test("It has every route, and no other")
    func routes() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        let documented = document.operations.map { "\($0.method) \($0.path)" }
        #expect(Set(documented) == Set(Self.table.routes.map { "\($0.method) \($0.path)" }))
        #expect(Set(document.operations.map(\.id)).count == document.operations.count)
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
            #expect((operation.json["requestBody"] != nil) == route.takesBody, "\(operation.id)")
            let described = operation.json["description"]?.string ?? ""
            switch route.access {
            case .open: #expect(operation.json["security"] == [], "\(operation.id)")
            case .scope(let scope): #expect(described.contains("Scope: `\(scope.rawValue)`."), "\(operation.id)")
            case .anyScope(let scopes):
                #expect(scopes.allSatisfy { described.contains("`\($0.rawValue)`") }, "\(operation.id)")
            case .registration: #expect(described.contains("Scope: `register`, or a ticket."), "\(operation.id)")
            case .unboundAdmin: #expect(described.contains("bound to no app. Scope: `admin`."), "\(operation.id)")
            }
        }
    }

    @Test("It is served as it is, to everybody")
    func served() async throws {
        let answer = try await API().send(.get, "/openapi.yaml", key: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/yaml")
        #expect(answer.body == (try String(contentsOf: Self.file, encoding: .utf8)))
    }

    @Test("It has an example of every problem that the API can answer")
    func problems() async throws {
        let document = try await OpenAPIDocument(yaml: Self.file.path)
        let answers = document.json["components"]?["responses"]?.object?.entries ?? []
        let documented = answers.flatMap { _, answer in
            (answer["content"]?["application/problem+json"]?["examples"]?.object?.entries ?? []).map(\.0)
        }
        let source = Self.file.appending(path: "../../Sources/APITypes/Problems/Problem+Codes.swift").standardized
        let text = try String(contentsOf: source, encoding: .utf8)
        let codes = text.matches(of: /code: "([a-z_]+)"/).map { String($0.output.1) }
        #expect(codes.count > 20)
        #expect(Set(codes).subtracting(documented) == [])
    }
}
