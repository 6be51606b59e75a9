import APITypes
import ActivityModel
import HTTPTypes
import JSON
import Record
import Testing

@testable import HTTPAPI

@Suite("Routes")
struct RouteTests {
    @Test("A route asks the service what its path and method say", arguments: RouteCase.all)
    func leadsToService(route: RouteCase) async throws {
        let api = API()
        let answer = try await api.send(route.method, route.path, body: route.body)
        #expect(answer.code == "reached")
        #expect(api.service.calls == [route.call])
    }

    @Test("Every route of the table is in the contract's list of this test")
    func tableIsComplete() {
        let table = RouteTable.api(service: RecordingService(), metrics: PrometheusMetrics())
        // Health, metrics and documents call no service; what a batch or a stream demands depends on its operations.
        let calling = Set(RouteCase.all.map { "\($0.method) \($0.path.prefix { $0 != "?" })" })
        #expect(table.routes.count == calling.count + 5 + Route.documents.count)
    }

    @Test("A path with a word of its own takes what is said of it alone")
    func literalPath() async throws {
        let answer = try await API().send(.get, "/v1/apps/com.example.mine/channels/reconcile")
        #expect(answer.status == 405)
        #expect(answer.headers[.allow] == "POST")
    }

    @Test(
        "A scope passes where it or what implies it is demanded, and is named where it is missing",
        arguments: RouteCase.all
    )
    func scopes(route: RouteCase) async throws {
        for scope in Scope.allCases {
            let api = API()
            let answer = try await api.send(route.method, route.path, key: scope.rawValue, body: route.body)
            let needed =
                switch route.demand {
                case .scope(let needed): needed
                case .unboundAdmin: Scope.admin
                }
            if scope.implied.contains(needed) {
                #expect(answer.code == "reached", "\(scope)")
            } else {
                #expect(answer.status == 403, "\(scope)")
                #expect(answer.code == "missing_scope", "\(scope)")
                #expect(answer.detail?.contains("'\(needed.rawValue)'") == true, "\(scope)")
                #expect(api.service.calls.isEmpty, "\(scope)")
            }
        }
    }

    @Test("A key of another app is refused before anything is looked up", arguments: RouteCase.all)
    func otherApp(route: RouteCase) async throws {
        guard route.path.hasPrefix("/v1/apps/") else { return }
        let api = API()
        let answer = try await api.send(route.method, route.path, key: "admin@com.example.other", body: route.body)
        #expect(answer.status == 403)
        #expect(answer.code == "app_forbidden")
        #expect(api.service.calls.isEmpty)
    }

    @Test("A ticket reaches the report of its device and of its card, and nothing else", arguments: RouteCase.all)
    func ticket(route: RouteCase) async throws {
        let api = API()
        let answer = try await api.send(route.method, route.path, key: "ticket", body: route.body)
        let reports = ["PUT/devices/d1", "PUT/activities/a1/subscriptions/d1", "POST/devices/d1/receipts"]
        let path = route.path.replacing("/v1/apps/com.example.mine", with: "")
        if reports.contains(route.method.rawValue + path) {
            #expect(answer.code == "reached")
            #expect(api.service.calls == [route.call.replacing("putDevice", with: "registerDevice")])
        } else {
            #expect(answer.status == 403)
            #expect(answer.code == "ticket_forbidden")
            #expect(api.service.calls.isEmpty)
        }
    }

    @Test(
        "A ticket for something else is 403 before anything is looked up",
        arguments: [
            ("/v1/apps/com.example.other/devices/d1", Bodies.device, "app_forbidden"),
            ("/v1/apps/com.example.mine/devices/d2", Bodies.device, "ticket_forbidden"),
            ("/v1/apps/com.example.mine/devices/d1", #"{"environment":"sandbox"}"#, "ticket_forbidden"),
            (
                "/v1/apps/com.example.mine/devices/d1", #"{"environment":"production","user_id":"u2"}"#,
                "ticket_forbidden"
            ),
            ("/v1/apps/com.example.mine/activities/a2/subscriptions/d1", Bodies.subscription, "ticket_forbidden"),
            ("/v1/apps/com.example.mine/activities/a1/subscriptions/d2", Bodies.subscription, "ticket_forbidden"),
            (
                "/v1/apps/com.example.mine/activities/a1/subscriptions/d1",
                #"{"channel":true,"environment":"sandbox"}"#, "ticket_forbidden"
            ),
        ]
    )
    func ticketElsewhere(path: String, body: String, code: String) async throws {
        let api = API()
        let answer = try await api.send(.put, path, key: "ticket", body: body)
        #expect(answer.status == 403)
        #expect(answer.code == code)
        #expect(api.service.calls.isEmpty)
    }

    @Test("A ticket that a backend signed and that is not good is 401 with the reason and the challenge")
    func badTicket() async throws {
        let api = API()
        let path = "/v1/apps/com.example.mine/devices/d1"
        let answer = try await api.send(.put, path, key: "ticket-expired", body: Bodies.device)
        #expect(answer.status == 401)
        #expect(answer.code == "unauthorized")
        #expect(answer.json?["detail"]?.string == "The ticket is not valid: it has expired.")
        #expect(answer.headers[.wwwAuthenticate]?.contains("invalid_token") == true)
        #expect(api.service.calls.isEmpty)
    }

    @Test("What is reported with a ticket is answered with nothing that the app has not said")
    func ticketReadsNothing() async throws {
        let api = API()
        api.service.answer(())
        let device = try await api.send(
            .put,
            "/v1/apps/com.example.mine/devices/d1",
            key: "ticket",
            body: Bodies.device
        )
        #expect(device.status == 200)
        #expect(device.body == #"{"device_id":"d1","accepted":true,"receipt_sampling":0.25}"#)
        api.service.answer(
            SubscriptionAnswer(
                activityID: ActivityID(stored: "a1"),
                deviceID: DeviceID(stored: "d1"),
                mode: .token,
                state: .due,
                revision: 7,
                activityState: .live,
                stale: .generation
            )
        )
        let card = try await api.send(
            .put,
            "/v1/apps/com.example.mine/activities/a1/subscriptions/d1",
            key: "ticket",
            body: Bodies.subscription
        )
        #expect(card.status == 200)
        #expect(
            card.body
                == #"{"device_id":"d1","activity_id":"a1","accepted":false,"reason":"stale_generation","receipt_sampling":0.25}"#
        )
    }

    @Test("Of the receipts with a ticket, those of other activities are left out")
    func receiptsOfOthers() async throws {
        let api = API()
        api.service.answer(())
        let body = #"{"receipts":[{"activity_id":"a2","revision":1},{"activity_id":"a1","revision":9}]}"#
        let path = "/v1/apps/com.example.mine/devices/d1/receipts"
        let answer = try await api.send(.post, path, key: "ticket", body: body)
        #expect(answer.status == 200)
        #expect(answer.body == #"{"device_id":"d1","receipt_sampling":0.25}"#)
        #expect(api.service.calls == ["takeReceipts com.example.mine d1 a1 9 -"])
        let other = try await api.send(.post, path, key: "ticket-d2", body: body)
        #expect(other.code == "ticket_forbidden")
    }

    private static let tooManyReceipts: String = {
        let one = #"{"activity_id":"a1","revision":1}"#
        let count = ReceiptsRequest.maximumReceipts + 1
        return #"{"receipts":["# + Array(repeating: one, count: count).joined(separator: ",") + "]}"
    }()

    @Test(
        "A receipt that cannot be is 422 with its place, and nothing is stored",
        arguments: [
            (#"{"receipts":[]}"#, "/receipts"),
            (#"{"receipts":[{"activity_id":"a1","revision":0}]}"#, "/receipts/0/revision"),
            (#"{"receipts":[{"activity_id":".","revision":1}]}"#, "/receipts/0/activity_id"),
            (#"{"receipts":[{"activity_id":"a1"}]}"#, "/receipts/0/revision"),
            (
                #"{"receipts":[{"activity_id":"a1","revision":1,"age_milliseconds":-1}]}"#,
                "/receipts/0/age_milliseconds"
            ),
            (
                #"{"receipts":[{"activity_id":"a1","revision":1,"age_milliseconds":86400001}]}"#,
                "/receipts/0/age_milliseconds"
            ),
            (#"{"receipts":[{"activity_id":"a1","revision":1,"device_id":"d2"}]}"#, "/receipts/0/device_id"),
            (tooManyReceipts, "/receipts"),
        ]
    )
    func badReceipts(body: String, pointer: String) async throws {
        let api = API()
        let path = "/v1/apps/com.example.mine/devices/d1/receipts"
        let answer = try await api.send(.post, path, key: "ticket", body: body)
        #expect(answer.status == 422)
        #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "A bound key works in its own app, however its id is written",
        arguments: [
            "/v1/apps/com.example.mine/activities/a1", "/v1/apps/com%2Eexample.mine/activities/a1",
        ]
    )
    func ownApp(path: String) async throws {
        let api = API()
        _ = try await api.send(.get, path, key: "read@com.example.mine")
        #expect(api.service.calls == ["activity com.example.mine a1"])
    }

    @Test("A bound key lists only its own app and keys")
    func boundLists() async throws {
        let api = API()
        _ = try await api.send(.get, "/v1/apps", key: "admin@com.example.mine")
        _ = try await api.send(.get, "/v1/api-keys", key: "admin@com.example.mine")
        _ = try await api.send(.delete, "/v1/api-keys/\(RouteCase.uuid)", key: "admin@com.example.mine")
        #expect(
            api.service.calls == [
                "apps 100 - only com.example.mine",
                "apiKeys 100 - only com.example.mine",
                "revokeAPIKey \(RouteCase.uuid) only com.example.mine",
            ]
        )
        _ = try await api.send(.get, "/v1/audit", key: "operate@com.example.mine")
        #expect(api.service.calls.last == "audit - - - 100 - only com.example.mine")
        let other = try await api.send(.get, "/v1/audit?bundle_id=com.example.other", key: "operate@com.example.mine")
        #expect(other.code == "app_forbidden")
        #expect(api.service.calls.count == 4)
    }

    @Test(
        "A bound admin makes keys for its own app only",
        arguments: [
            (nil, 403), ("com.example.other", 403), ("com.example.mine", 418),
        ]
    )
    func boundAdminMakesKeys(app: String?, status: Int) async throws {
        let field = app.map { #","bundle_id":"\#($0)""# } ?? ""
        let body = #"{"name":"n","scopes":["read"]\#(field)}"#
        let answer = try await API().send(.post, "/v1/api-keys", key: "admin@com.example.mine", body: body)
        #expect(answer.status == status)
    }

    @Test("Apps are made and deleted by an admin that is bound to none", arguments: [HTTPRequest.Method.put, .delete])
    func boundAdminMakesNoApps(method: HTTPRequest.Method) async throws {
        let api = API()
        let answer = try await api.send(
            method,
            "/v1/apps/com.example.mine",
            key: "admin@com.example.mine",
            body: Bodies.app
        )
        #expect(answer.status == 403)
        #expect(answer.code == "app_forbidden")
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "A path that does not exist is 404",
        arguments: ["/", "/v1", "/v1/nothing", "/v1/apps/com.example.mine/x/y/z"]
    )
    func unknownPath(path: String) async throws {
        let answer = try await API().send(.get, path)
        #expect(answer.status == 404)
        #expect(answer.code == "not_found")
    }

    @Test(
        "A method that a path does not take is 405 with the ones that it takes",
        arguments: [
            ("/v1/apps", HTTPRequest.Method.post, "GET, HEAD"),
            ("/v1/apps/com.example.mine", .post, "DELETE, GET, HEAD, PATCH, PUT"),
            ("/v1/apps/com.example.mine/activities/a1/updates", .get, "POST"),
            ("/health/live", .delete, "GET, HEAD"),
        ]
    )
    func wrongMethod(path: String, method: HTTPRequest.Method, allowed: String) async throws {
        let answer = try await API().send(method, path)
        #expect(answer.status == 405)
        #expect(answer.code == "method_not_allowed")
        #expect(answer.headers[.allow] == allowed)
    }

    @Test(
        "A public path says so to everybody, and asks nobody for a key",
        arguments: ["/health/live", "/health/ready", "/openapi.yaml"]
    )
    func publicPath(path: String) async throws {
        let answer = try await API().send(.post, path, key: nil)
        #expect(answer.status == 405)
        #expect(answer.headers[.allow] == "GET, HEAD")
    }

    @Test(
        "A path with an empty segment is 404, for everybody: clients make such paths of `.` and `..`",
        arguments: [
            "/health/live/", "/v1/apps/", "/v1/apps/com.example.mine/", "/v1//apps",
            "/v1/apps/com.example.mine//devices",
        ],
        [nil, "admin"]
    )
    func emptySegment(path: String, key: String?) async throws {
        let api = API()
        for method in [HTTPRequest.Method.get, .delete] {
            let answer = try await api.send(method, path, key: key)
            #expect(answer.status == 404)
            #expect(answer.code == "not_found")
        }
        #expect(api.service.calls.isEmpty)
    }

    @Test("HEAD is answered as GET without the body, also when it is refused", arguments: [nil, "admin"])
    func head(key: String?) async throws {
        let api = API()
        for path in ["/health/live", "/openapi.yaml", "/v1/apps", "/v1/nothing", "/v1/apps?limit=0"] {
            var answers: [Answer] = []
            for method in [HTTPRequest.Method.get, .head] {
                answers.append(try await api.send(method, path, key: key, headers: [.requestID: "same"]))
            }
            #expect(answers[0].status == answers[1].status)
            #expect(answers[0].headers == answers[1].headers)
            #expect(answers[1].headers[.contentLength] == String(answers[0].body.utf8.count))
            #expect(answers[1].body.isEmpty)
        }
    }

    @Test("HEAD of events is answered at once, and says nothing of a length")
    func headOfEvents() async throws {
        let api = API()
        api.service.answer(EventCursor.oldest)
        let answer = try await api.send(.head, "/v1/events")
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/event-stream")
        #expect(answer.headers[.contentLength] == nil)
        #expect(answer.body.isEmpty)
    }

    @Test(
        "An app is deleted for who says which, and a path alone does not",
        arguments: ["", "?confirm=", "?confirm=com.example.other", "?confirm=true", "?confirm=COM.EXAMPLE.MINE"]
    )
    func unconfirmedDeletion(query: String) async throws {
        let api = API()
        let answer = try await api.send(.delete, "/v1/apps/com.example.mine" + query)
        #expect(answer.status == 422)
        #expect(answer.code == "invalid_request")
        #expect(api.service.calls.isEmpty)
        let confirmed = try await api.send(.delete, "/v1/apps/com.example.mine?confirm=com.example.mine")
        #expect(confirmed.status == 204 || confirmed.code == "reached")
        #expect(api.service.calls == ["deleteApp com.example.mine"])
    }

    @Test("What an unconfirmed deletion lacks is said")
    func confirmation() async throws {
        let answer = try await API().send(.delete, "/v1/apps/com.example.mine")
        #expect(answer.detail == "To delete the app with all that belongs to it, add '?confirm=com.example.mine'.")
    }

    @Test(
        "`.` and `..` are ids of nothing",
        arguments: [
            "/activities/.", "/activities/%2e%2e", "/devices/..", "/devices/%2E", "/users/..",
            "/activities/../timeline",
        ]
    )
    func dots(path: String) async throws {
        let api = API()
        let method: HTTPRequest.Method = path.hasPrefix("/users") ? .delete : .get
        let answer = try await api.send(method, "/v1/apps/com.example.mine" + path)
        #expect(answer.status == 422)
        #expect(answer.detail?.contains("other than '.' and '..'") == true)
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "An id in the path that breaks its grammar is 422 and named",
        arguments: [
            ("/v1/apps/com..example%2F/activities/a1", "bundle_id"),
            ("/v1/apps/com.example.mine/activities/a%7Fb", "activity_id"),
            ("/v1/apps/com.example.mine/devices/d%C3%A4", "device_id"),
            ("/v1/apps/com.example.mine/types/1st", "type"),
            ("/v1/apps/com.example.mine/channels/7", "channel_id"),
            ("/v1/apps/com.example.mine/schedules/7", "schedule_id"),
            ("/v1/apps/com.example.mine/activities/%zz", "activity_id"),
        ]
    )
    func invalidSegment(path: String, name: String) async throws {
        let api = API()
        let answer = try await api.send(.get, path)
        #expect(answer.status == 422)
        #expect(answer.code == "invalid_request")
        #expect(answer.detail?.contains("'\(name)'") == true)
        #expect(answer.json?["errors"] == nil)
        #expect(api.service.calls.isEmpty)
    }

    @Test("Percent-encoded ids are decoded, and UUIDs have one spelling")
    func decodedSegments() async throws {
        let api = API()
        _ = try await api.send(.get, "/v1/apps/com.example.mine/activities/fifa%3A2022~final")
        _ = try await api.send(.get, "/v1/apps/com.example.mine/channels/\(RouteCase.uuid.uppercased())")
        #expect(
            api.service.calls == [
                "activity com.example.mine fifa:2022~final", "channel com.example.mine \(RouteCase.uuid)",
            ]
        )
    }
}
