import APITypes
import ActivityModel
import HTTPTypes
import JSON
import Store
import TestSupport
import Testing

@testable import HTTPAPI

@Suite("Answers")
struct AnswerTests {
    private static let activity = "/v1/apps/com.example.mine/activities/a1"

    @Test("A start is 202, its replay 200", arguments: [(false, 202), (true, 200)])
    func start(replay: Bool, status: Int) async throws {
        let api = API()
        api.service.isReplay(replay)
        api.service.answer(
            StartAnswer(
                activityID: ActivityID(stored: "a1"),
                state: .live,
                revision: 1,
                timestamp: 1_671_375_600,
                audience: AudienceCounts(devices: 3, unknownUsers: 0)
            )
        )
        let answer = try await api.send(.put, Self.activity, body: Bodies.start)
        #expect(answer.status == status)
        #expect(answer.headers[.contentType] == "application/json")
        #expect(answer.json?["revision"]?.int64 == 1)
    }

    @Test("Updates and ends are 202", arguments: [("/updates", Bodies.update), ("/end", Bodies.empty)])
    func changes(path: String, body: String) async throws {
        let api = API()
        api.service.answer(
            ChangeAnswer.accepted(activityID: ActivityID(stored: "a1"), revision: 2, timestamp: nil, unchanged: false)
        )
        let answer = try await api.send(.post, Self.activity + path, body: body)
        #expect(answer.status == 202)
        #expect(answer.json?["timestamp"]?.isNull == true)
    }

    @Test("What a POST makes is 201")
    func created() async throws {
        let api = API()
        let made = Instant(unixSeconds: 0)
        api.service.answer(
            APIKeyResource(id: RouteCase.uuid, name: "n", scopes: [.read], createdAt: made, secret: "tally_x")
        )
        let answer = try await api.send(.post, "/v1/api-keys", body: Bodies.apiKey)
        #expect(answer.status == 201)
        #expect(answer.json?["secret"]?.string == "tally_x")
    }

    @Test("Another PUT is 200")
    func put() async throws {
        let api = API()
        let registration = TypeRegistration(version: 1, changed: true, lint: [], compatibility: .init(compatible: true))
        api.service.answer(registration)
        let answer = try await api.send(.put, "/v1/apps/com.example.mine/types/Game", body: Bodies.type)
        #expect(answer.status == 200)
    }

    @Test("A DELETE is 204 without a body")
    func deleted() async throws {
        let api = API()
        api.service.answer(())
        let answer = try await api.send(.delete, "/v1/apps/com.example.mine/devices/d1")
        #expect(answer.status == 204)
        #expect(answer.body.isEmpty)
        #expect(answer.headers[.contentType] == nil)
    }

    // MARK: Problems

    @Test("A problem of the service is the answer, with Retry-After where it has one")
    func problem() async throws {
        let api = API()
        api.service.fail(with: Problem.tooManyMustDeliver(limit: 8, retryAfter: 2))
        let answer = try await api.send(.post, Self.activity + "/updates", body: Bodies.update)
        #expect(answer.status == 429)
        #expect(answer.code == "too_many_must_deliver")
        #expect(answer.headers[.retryAfter] == "2")
        #expect(answer.json?["limit"]?.int64 == 8)
        #expect(api.log.all.allSatisfy { $0.hasPrefix("debug") })
    }

    @Test("An outage is 503 with Retry-After: 1")
    func outage() async throws {
        let api = API()
        api.service.fail(with: RecordingService.Outage())
        let answer = try await api.send(.get, Self.activity)
        #expect(answer.status == 503)
        #expect(answer.code == "unavailable")
        #expect(answer.headers[.retryAfter] == "1")
    }

    @Test("A cancelled request is 503")
    func cancelled() async throws {
        let api = API()
        api.service.fail(with: CancellationError())
        #expect(try await api.send(.get, Self.activity).status == 503)
    }

    @Test("A mistake of the program is 500; its cause is in the log only, under the same request id")
    func mistake() async throws {
        let api = API()
        api.service.fail(with: RecordingService.Mistake(description: "column revision is NULL"))
        let answer = try await api.send(
            .post,
            Self.activity + "/updates",
            body: #"{"content_state":{"secret":"goal"}}"#
        )
        #expect(answer.status == 500)
        #expect(answer.code == "internal_error")
        #expect(!answer.body.contains("column"))
        let id = try #require(answer.json?["request_id"]?.string)
        #expect(answer.headers[.requestID] == id)
        let line = try #require(api.log.all.first { $0.hasPrefix("error") })
        #expect(line.contains("column revision is NULL"))
        #expect(line.contains("request.id=\(id)"))
        #expect(!api.log.all.contains { $0.contains("goal") || $0.contains("Bearer") })
    }

    // MARK: Request ids

    @Test(
        "A caller's request id is taken over where it is harmless; otherwise the request gets a random UUID",
        arguments: [
            ("trace-1.2_3", true), ("two words", false), (String(repeating: "x", count: 65), false), ("a/b", false),
        ]
    )
    func requestID(id: String, taken: Bool) async throws {
        let answer = try await API().send(.get, "/health/live", headers: [.requestID: id])
        let given = try #require(answer.headers[.requestID])
        #expect((given == id) == taken)
        guard !taken else { return }
        #expect(given.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        let other = try await API().send(.get, "/health/live", headers: [.requestID: id])
        #expect(other.headers[.requestID] != given)
    }

    @Test("What a request asks for is done in its name: key, request id and trace go down with it")
    func caller() async throws {
        let api = API()
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let headers: HTTPFields = [.requestID: "request-7", .traceParent: trace]
        let body = #"{"content_state":{}}"#
        _ = try await api.send(.post, Self.activity + "/updates", body: body, headers: headers)
        _ = try await api.send(.post, Self.activity + "/updates", body: body)
        #expect(api.service.callers.map { $0?.keyID } == ["key of admin", "key of admin"])
        #expect(api.service.callers.first??.requestID == "request-7")
        #expect(api.service.origins.count == 2)
        #expect(api.service.origins.first??.requestID == "request-7")
        #expect(api.service.origins.first??.trace?.description == trace)
        #expect(api.service.origins.last??.trace == nil)
    }

    // MARK: Health and metrics

    @Test("Health needs no key; readiness carries warnings")
    func ready() async throws {
        let api = API()
        api.service.warn(of: ["Sending is halted."])
        let ready = try await api.send(.get, "/health/ready", key: nil)
        #expect(ready.status == 200)
        #expect(ready.json == ["status": "ready", "warnings": ["Sending is halted."]])
        #expect(try await api.send(.get, "/health/live", key: nil).status == 200)
    }

    @Test("While the database cannot be reached the daemon is not ready, and lives")
    func unready() async throws {
        let api = API()
        api.service.fail(with: RecordingService.Outage())
        let ready = try await api.send(.get, "/health/ready", key: nil)
        #expect(ready.status == 503)
        #expect(ready.json == ["status": "unavailable", "warnings": ["The database cannot be reached."]])
        #expect(try await api.send(.get, "/health/live", key: nil).status == 200)
    }

    @Test("Metrics need a key that may read, and count requests by route and status")
    func metrics() async throws {
        let api = API()
        _ = try await api.send(.get, Self.activity)
        _ = try await api.send(.get, "/v1/nothing")
        #expect(try await api.send(.get, "/metrics", key: "register").status == 403)
        let answer = try await api.send(.get, "/metrics", key: "read")
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
        let route = "/v1/apps/{bundle_id}/activities/{activity_id}"
        #expect(answer.body.contains(#"tally_http_requests_total{method="GET",route="\#(route)",status="418"} 1"#))
        #expect(answer.body.contains(#"tally_http_requests_total{method="other",route="unmatched",status="404"} 1"#))
        #expect(answer.body.contains(#"tally_http_request_duration_seconds_count{method="GET",route="\#(route)"} 1"#))
    }
}
