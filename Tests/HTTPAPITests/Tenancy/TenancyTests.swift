import APITypes
import ActivityModel
import CoreMetrics
import Cryptography
import HTTPTypes
import Intake
import JSON
import Logging
import OrchestratorTestSupport
import Postgres
import Schema
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Orchestrator
@testable import Store

/// The real service on a real database, with two apps that must not hear of each other.
@Suite("Tenancy", .timeLimit(.minutes(2)))
struct TenancyTests {
    private static let mine = BundleID(stored: "com.example.mine")
    private static let other = BundleID(stored: "com.example.other")

    @Test("With a key of one app no route tells anything of another, be it there or not")
    func walk() async throws {
        try await Self.withAPI { api, keys in
            for route in RouteCase.all where route.path.hasPrefix("/v1/apps/com.example.mine") {
                for app in [Self.other.rawValue, "com.example.none"] {
                    let path = route.path.replacing("com.example.mine", with: app)
                    let answer = try await api.send(route.method, path, key: keys.mine, body: route.body)
                    #expect(answer.status == 403, "\(route.method) \(path)")
                    #expect(answer.code == "app_forbidden", "\(route.method) \(path)")
                    #expect(!answer.body.contains(app), "\(route.method) \(path)")
                }
            }
        }
    }

    @Test("No route of the table lets a key of one app near another, whatever its scope: what is added is tried, too")
    func everyRoute() async throws {
        try await Self.withAPI { api, keys in
            let routes = RouteTable.api(service: RecordingService(), metrics: PrometheusMetrics()).routes
                .filter { $0.path.contains("{bundle_id}") }
            #expect(routes.count > 30)
            for route in routes {
                let path = route.path.replacing("{bundle_id}", with: Self.other.rawValue)
                    .replacing(/\{[a-z_]+\}/, with: "d1")
                let body: String? = route.takesBody || route.takesLines ? "{}" : nil
                let headers: HTTPFields = route.takesLines ? [.contentType: "application/x-ndjson"] : [:]
                for (scope, key) in keys.mineByScope {
                    let answer = try await api.send(route.method, path, key: key, body: body, headers: headers)
                    #expect(answer.status == 403, "\(scope) \(route.method) \(path)")
                    let codes = ["app_forbidden", "missing_scope"]
                    #expect(codes.contains(answer.code ?? ""), "\(scope) \(route.method) \(path)")
                    #expect(!answer.body.contains(Self.other.rawValue), "\(scope) \(route.method) \(path)")
                }
                let refused = try await api.send(
                    route.method,
                    path,
                    key: keys.mineByScope[.admin],
                    body: "{}",
                    headers: headers
                )
                #expect(refused.code == "app_forbidden", "\(route.method) \(path)")
            }
        }
    }

    @Test("Lists, keys, the audit log, events and metrics are those of the key's app alone")
    func lists() async throws {
        try await Self.withAPI { api, keys in
            api.metrics.makeCounter(label: "tally_x", dimensions: [("app", "com.example.other")]).increment(by: 1)
            api.metrics.makeCounter(label: "tally_x", dimensions: [("app", "com.example.mine")]).increment(by: 2)
            let json: HTTPFields = [.accept: "application/json"]
            for path in ["/v1/apps", "/v1/api-keys", "/v1/audit", "/v1/events", "/metrics"] {
                let all = try await api.send(.get, path, key: keys.unbound, headers: json)
                #expect(all.status == 200, "\(path)")
                if path != "/v1/events" { #expect(all.body.contains("com.example.other"), "\(path)") }
                let bound = try await api.send(.get, path, key: keys.mine, headers: json)
                #expect(bound.status == 200, "\(path)")
                #expect(!bound.body.contains("com.example.other"), "\(path)")
                if path != "/v1/events" { #expect(bound.body.contains("com.example.mine"), "\(path)") }
            }
            for path in ["/v1/audit", "/v1/events"] {
                let asked = try await api.send(
                    .get,
                    path + "?bundle_id=com.example.other",
                    key: keys.mine,
                    headers: json
                )
                #expect(asked.code == "app_forbidden", "\(path)")
            }
        }
    }

    @Test("A bound admin cannot make a key for another app, nor revoke one of another")
    func keys() async throws {
        try await Self.withAPI { api, keys in
            let body = #"{"name":"n","scopes":["read"],"bundle_id":"com.example.other"}"#
            #expect(try await api.send(.post, "/v1/api-keys", key: keys.mine, body: body).code == "app_forbidden")
            let revoked = try await api.send(.delete, "/v1/api-keys/\(keys.otherID)", key: keys.mine)
            #expect(revoked.status == 404)
            #expect(try await api.send(.get, "/v1/apps", key: keys.other).status == 200)
        }
    }

    @Test("What an operator does over HTTP is on record with the key and the id of the request")
    func audit() async throws {
        try await Self.withAPI { api, keys in
            let type = "/v1/apps/com.example.mine/types/Game"
            _ = try await api.send(.put, type, key: keys.mine, body: Bodies.type, headers: [.requestID: "deploy-7"])
            let log = try await api.send(.get, "/v1/audit?action=type_changed", key: keys.mine)
            let entry = try #require(log.json?["items"]?.array?.first)
            #expect(entry["key_name"]?.string == "mine")
            #expect(entry["request_id"]?.string == "deploy-7")
            #expect(entry["subject"]?.string == "Game")
        }
    }

    @Test("With a ticket an app registers its device and card, and nothing of what Tally knows comes back")
    func ticket() async throws {
        try await Self.withAPI { api, keys in
            let tickets = "/v1/apps/com.example.mine/registration-tickets"
            let wish =
                #"{"environment":"production","device_id":"d1","user_id":"u1","activities":["a1"],"ttl_seconds":60}"#
            let made = try await api.send(.post, tickets, key: keys.mine, body: wish)
            #expect(made.status == 201)
            let ticket = try #require(made.json?["ticket"]?.string)
            let device = "/v1/apps/com.example.mine/devices/d1"
            let registered = try await api.send(.put, device, key: ticket, body: Bodies.device)
            #expect(registered.status == 200)
            #expect(registered.body == #"{"device_id":"d1","accepted":true,"receipt_sampling":0.01}"#)
            #expect(try await api.send(.get, device, key: keys.mine).json?["user_id"]?.string == "u1")
            #expect(try await api.send(.get, device, key: ticket).code == "ticket_forbidden")
            let card = "/v1/apps/com.example.mine/activities/a1/subscriptions/d1"
            let unknown = try await api.send(.put, card, key: ticket, body: #"{"update_token":"aa01"}"#)
            #expect(unknown.status == 404)
            let forged = try await api.send(.put, device, key: ticket + "A", body: Bodies.device)
            #expect(forged.status == 401)
        }
    }

    private struct Keys {
        let unbound: String
        let mine: String
        /// Further keys of the same app, each with one scope.
        let mineByScope: [Scope: String]
        let other: String
        let otherID: String
    }

    private static func withAPI(_ body: (API, Keys) async throws -> Void) async throws {
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        try await withDatabase(migrations: migrations) { database in
            let orchestrator = Orchestrator(
                database: database,
                sender: NoSender(),
                masterKeys: MasterKeys(.generate()),
                settings: OrchestratorSettings { $0.bootstrapKey = "first-steps-of-all" },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let api = API(over: orchestrator)
            func make(_ name: String, _ app: BundleID) async throws -> APIKeyResource {
                let body =
                    #"{"team_id":"ABCDE12345","environments":{"production":{"key_id":"KEY1234567","private_key":"#
                let key = JSONValue.string(try P256PrivateKey.generate().pem()).text
                let path = "/v1/apps/\(app.rawValue)"
                let put = try await api.send(.put, path, key: "first-steps-of-all", body: body + key + "}}}")
                #expect(put.status == 200)
                return try await orchestrator.createAPIKey(APIKeyRequest(name: name, scopes: [.admin], bundleID: app))
            }
            let mine = try await make("mine", mine)
            let other = try await make("other", other)
            var mineByScope: [Scope: String] = [:]
            for scope in Scope.allCases {
                let request = APIKeyRequest(name: scope.rawValue, scopes: [scope], bundleID: Self.mine)
                mineByScope[scope] = try await orchestrator.createAPIKey(request).secret
            }
            let keys = Keys(
                unbound: "first-steps-of-all",
                mine: try #require(mine.secret),
                mineByScope: mineByScope,
                other: try #require(other.secret),
                otherID: other.id
            )
            try await withThrowingTaskGroup { group in
                group.addTask { await orchestrator.intake.duty.run() }
                try await body(api, keys)
                group.cancelAll()
            }
        }
    }
}
