import APITypes
import ActivityModel
import Cryptography
import HTTPTypes
import Intake
import JSON
import Logging
import OrchestratorTestSupport
import Postgres
import Schema
import Store
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Orchestrator

/// What a backend sees of the real service on a real database.
@Suite("The API over the real service", .timeLimit(.minutes(2)))
struct FrontDoorTests {
    private static let app = "/v1/apps/com.example.app"
    private static let match = app + "/activities/final"

    // MARK: Answers of earlier requests

    @Test("The answer of an earlier request says so, and one of a new request does not")
    func replays() async throws {
        try await Self.withService { call, _ in
            let body = #"{"content_state":{"score":1}}"#
            let first = try await call(.post, Self.match + "/updates", body, key: "goal-1")
            let again = try await call(.post, Self.match + "/updates", body, key: "goal-1")
            #expect(first.status == 202 && first.headers[.idempotentReplayed] == nil)
            #expect(again.status == 202 && again.headers[.idempotentReplayed] == "true")
            #expect(again.body == first.body)
            let other = try await call(.post, Self.match + "/updates", #"{"content_state":{"score":2}}"#, key: "goal-2")
            #expect(other.headers[.idempotentReplayed] == nil)
            let started = try await call(.put, Self.match, Self.start)
            #expect(started.status == 200 && started.headers[.idempotentReplayed] == "true")
            let audience = #"{"remove":{"users":["ada"]}}"#
            #expect(
                try await call(.post, Self.match + "/audience", audience, key: "a").headers[.idempotentReplayed] == nil
            )
            #expect(
                try await call(.post, Self.match + "/audience", audience, key: "a").headers[.idempotentReplayed]
                    == "true"
            )
        }
    }

    @Test("A second end is answered like the first; one with another state is refused")
    func secondEnd() async throws {
        try await Self.withService { call, _ in
            let end = Self.match + "/end"
            let first = try await call(.post, end, #"{"content_state":{"score":3}}"#)
            #expect(first.status == 202 && first.headers[.idempotentReplayed] == nil)
            for body in ["{}", #"{"content_state":{"score":3}}"#] {
                let again = try await call(.post, end, body)
                #expect(again.status == 202 && again.headers[.idempotentReplayed] == "true")
                #expect(again.body == first.body)
            }
            #expect(try await call(.post, end, #"{"content_state":{"score":4}}"#).code == "activity_ended")
            let dry = try await call(.post, end + "?dry_run=true", "{}")
            #expect(dry.json?["unchanged"] == true)
            #expect(dry.json?["pushes"]?.array?.isEmpty == true)
        }
    }

    // MARK: Who follows what

    @Test("The audience counts what nobody has registered, and lists its members page by page")
    func audience() async throws {
        try await Self.withService { call, _ in
            let body =
                #"{"add":{"users":["ada","nobody"],"devices":["phone-1","phone-9"]},"alert":{"title":"a","body":"b"}}"#
            let counts = try await call(.post, Self.match + "/audience", body)
            #expect(counts.json == ["devices": 1, "unknown_users": 1, "unknown_devices": 1])
            var members: [JSONValue] = []
            var cursor: String?
            repeat {
                let query = "?limit=3" + (cursor.map { "&cursor=\($0)" } ?? "")
                let page = try await call(.get, Self.match + "/audience" + query)
                #expect(page.json?["all_of_type"] == false)
                members += page.json?["items"]?.array ?? []
                cursor = page.json?["next_cursor"]?.string
            } while cursor != nil
            let expected: [JSONValue] = [
                ["user_id": "ada", "known": true], ["user_id": "nobody", "known": false],
                ["device_id": "phone-1", "known": true], ["device_id": "phone-9", "known": false],
            ]
            #expect(members.count == 4)
            #expect(expected.allSatisfy { members.contains($0) })
            #expect(try await call(.get, Self.app + "/activities/none/audience").status == 404)
        }
    }

    @Test("A user is shown with devices, cards and activities; nobody is 404")
    func user() async throws {
        try await Self.withService { call, _ in
            _ = try await call(
                .put,
                Self.match + "/subscriptions/phone-1",
                #"{"update_token":"aa01","known_revision":1}"#
            )
            _ = try await call(
                .post,
                Self.match + "/audience",
                #"{"add":{"users":["ada"]},"alert":{"title":"a","body":"b"}}"#
            )
            let ada = try await call(.get, Self.app + "/users/ada")
            #expect(ada.json?["devices"]?.array?.compactMap { $0["device_id"]?.string } == ["phone-1"])
            let card = try #require(ada.json?["cards"]?.array?.first)
            #expect(card["activity_id"] == "final" && card["activity_state"] == "live" && card["type"] == "Game")
            #expect(card["card"]?["device_id"] == "phone-1" && card["card"]?["update_token"] == "aa01…")
            #expect(ada.json?["activities"] == [["activity_id": "final", "type": "Game", "state": "live"]])
            #expect(ada.json?["truncated"] == false)
            #expect(try await call(.get, Self.app + "/users/grace").code == "not_found")
        }
    }

    @Test("A channel says how many cards follow it")
    func followers() async throws {
        try await Self.withService { call, _ in
            let path = Self.app + "/activities/derby"
            let start = #"{"type":"Game","attributes":{},"content_state":{"score":0},"delivery":"channel"}"#
            #expect(try await call(.put, path, start).status == 202)
            for phone in ["phone-1", "phone-2"] {
                let report = #"{"channel":true,"environment":"production","os_version":"18.1"}"#
                #expect(try await call(.put, path + "/subscriptions/\(phone)", report).status == 200)
            }
            let activity = try await call(.get, path)
            #expect(activity.json?["channel"]?["followers"] == 2)
            let listed = try await call(.get, Self.app + "/channels")
            #expect(listed.json?["items"]?.array?.compactMap { $0["followers"]?.int64 } == [2])
            let id = try #require(activity.json?["channel"]?["id"]?.string)
            _ = try await call(.put, path + "/subscriptions/phone-2", #"{"ended":true}"#)
            #expect(try await call(.get, Self.app + "/channels/\(id)").json?["followers"] == 1)
        }
    }

    @Test("Ids and versions are whatever a backend has")
    func opaque() async throws {
        try await Self.withService { call, _ in
            let device =
                #"{"environment":"production","user_id":"auth0|a/b c","os_version":"18.1.1 (22B91)","app_version":"2.4.0-beta.3"}"#
            #expect(try await call(.put, Self.app + "/devices/p%2B1%2F%3D", device).status == 200)
            let shown = try await call(.get, Self.app + "/users/auth0%7Ca%2Fb%20c")
            let found = try #require(shown.json?["devices"]?.array?.first)
            #expect(found["device_id"] == "p+1/=")
            #expect(found["os_version"] == "18.1.1 (22B91)" && found["app_version"] == "2.4.0-beta.3")
            #expect(try await call(.get, Self.app + "/devices?user_id=auth0%7Ca%2Fb%20c").body.contains("p+1/="))
            #expect(try await call(.put, Self.app + "/devices/%C3%A9", device).code == "invalid_request")
            #expect(try await call(.delete, Self.app + "/users/auth0%7Ca%2Fb%20c").status == 204)
            #expect(try await call(.get, Self.app + "/users/auth0%7Ca%2Fb%20c").status == 404)
        }
    }

    // MARK: Settings

    @Test("A patch of an app changes what it names; null sets back, and a key cannot be removed")
    func patchApp() async throws {
        try await Self.withService { call, _ in
            let before = try await call(.get, Self.app).json
            let pool = try await call(.patch, Self.app, #"{"channel_pool":7,"channels_exclusive":true}"#)
            #expect(pool.status == 200)
            #expect(pool.json?["channel_pool"] == 7 && pool.json?["channels_exclusive"] == true)
            #expect(pool.json?["environments"] == before?["environments"])
            let pem = JSONValue.string(try P256PrivateKey.generate().pem()).text
            let key = #"{"key_id":"KEY7654321","private_key":\#(pem)}"#
            let named = try await call(.patch, Self.app, #"{"environments":{"production":\#(key)}}"#)
            #expect(named.json?["environments"] == ["production": ["key_id": "KEY7654321"]])
            #expect(named.json?["channel_pool"] == 7)
            let reset = try await call(
                .patch,
                Self.app,
                #"{"channel_pool":null}"#,
                type: "application/merge-patch+json"
            )
            #expect(reset.json?["channel_pool"] == 0 && reset.json?["channels_exclusive"] == true)
            for wrong in [
                #"{"environments":{"production":null}}"#, #"{"team_id":null}"#, #"{"chanel_pool":null}"#,
                #"{"environments":{"sandbox":{"key_id":"KEY1234567"}}}"#,
                #"{"environments":{"production":{"key_id":"KEY1234567"}}}"#,
            ] {
                #expect(try await call(.patch, Self.app, wrong).code == "invalid_request", "\(wrong)")
            }
            #expect(try await call(.patch, "/v1/apps/com.example.none", "{}").code == "not_found")
            let put = try await call(.put, Self.match, Self.start, type: "application/merge-patch+json")
            #expect(put.code == "unsupported_media_type")
        }
    }

    @Test("A patch of a type merges into its policy, makes no version, and is on record")
    func patchType() async throws {
        try await Self.withService { call, _ in
            let path = Self.app + "/types/Game"
            #expect(try await call(.patch, path, #"{"policy":{"budget":{"frequent":70}}}"#).status == 200)
            let patched = try await call(
                .patch,
                path,
                #"{"policy":{"budget":{"ordinary":20},"token_wait_seconds":60,"rules":[{"changed":"/score","urgency":"notable"}]}}"#
            )
            #expect(patched.status == 200)
            #expect(patched.json?["version"] == 1)
            #expect(patched.json?["policy"]?["budget"]?["ordinary"] == 20)
            #expect(patched.json?["policy"]?["budget"]?["frequent"] == 70)
            let reset = try await call(.patch, path, #"{"policy":{"token_wait_seconds":null}}"#)
            #expect(reset.json?["policy"]?["token_wait_seconds"] == 3_600)
            #expect(reset.json?["policy"]?["rules"]?.array?.count == 1)
            #expect(try await call(.get, path).json == reset.json)
            let wrong = [
                (#"{"policy":{"budget":{"ordnary":null}}}"#, "/policy/budget/ordnary"),
                (#"{"policy":{"id_attribute":"none"}}"#, "/policy/id_attribute"),
                (#"{"policy":{"token_wait_seconds":-1}}"#, "/policy/token_wait_seconds"),
                (#"{"content_state_schema":true}"#, "/content_state_schema"),
            ]
            for (body, pointer) in wrong {
                let refused = try await call(.patch, path, body)
                #expect(refused.status == 422)
                #expect(refused.json?["errors"]?.array?.first?["pointer"]?.string == pointer)
            }
            #expect(try await call(.get, path).json == reset.json)
            let log = try await call(.get, "/v1/audit?action=type_changed")
            #expect(log.json?["items"]?.array?.first?["after"]?["policy"]?["token_wait_seconds"] == 3_600)
            let all = try await call(.patch, path, #"{"policy":null}"#)
            #expect(all.json?["policy"]?["rules"] == [])
            #expect(try await call(.patch, Self.app + "/types/None", "{}").code == "not_found")
        }
    }

    @Test("Halts of the app are listed, and nobody else's")
    func halts() async throws {
        try await Self.withService { call, database in
            #expect(try await call(.get, Self.app + "/halts").json == ["items": [], "next_cursor": nil])
            try await EngineTables(database).halt("com.example.app", answers: 120, rejections: 98)
            let halts = try await call(.get, Self.app + "/halts").json?["items"]?.array ?? []
            #expect(halts.count == 1)
            #expect(halts.first?["environment"] == "production")
            #expect(halts.first?["answers"] == 120 && halts.first?["rejections"] == 98)
        }
    }

    // MARK: The service

    private static let start =
        #"{"type":"Game","attributes":{},"content_state":{"score":0},"alert":{"title":"a","body":"b"}}"#

    /// One request of an admin.
    private struct Call {
        let api: API

        func callAsFunction(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ body: String? = nil,
            key: String? = nil,
            type: String? = nil
        ) async throws -> Answer {
            var headers: HTTPFields = [:]
            headers[.idempotencyKey] = key
            headers[.contentType] = type
            return try await api.send(method, path, key: "first-steps-of-all", body: body, headers: headers)
        }
    }

    /// The app, its type `Game`, the device `phone-1` of the user `ada`, and the running activity `final`.
    private static func withService(_ body: @escaping (Call, Database) async throws -> Void) async throws {
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        try await withDatabase(migrations: migrations) { database in
            let orchestrator = Orchestrator(
                database: database,
                sender: NoSender(),
                masterKeys: MasterKeys(.generate()),
                settings: OrchestratorSettings { $0.bootstrapKey = "first-steps-of-all" },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let call = Call(api: API(over: orchestrator))
            let pem = JSONValue.string(try P256PrivateKey.generate().pem()).text
            let signing = #"{"production":{"key_id":"KEY1234567","private_key":\#(pem)}}"#
            try await withThrowingTaskGroup { group in
                group.addTask { await orchestrator.intake.duty.run() }
                let put = try await call(.put, app, #"{"team_id":"ABCDE12345","environments":\#(signing)}"#)
                #expect(put.status == 200)
                let type = try await call(.put, app + "/types/Game", Bodies.type)
                #expect(type.status == 200)
                let device = try await call(
                    .put,
                    app + "/devices/phone-1",
                    #"{"environment":"production","user_id":"ada"}"#
                )
                #expect(device.status == 200)
                let started = try await call(.put, match, start)
                #expect(started.status == 202)
                try await body(call, database)
                group.cancelAll()
            }
        }
    }
}
