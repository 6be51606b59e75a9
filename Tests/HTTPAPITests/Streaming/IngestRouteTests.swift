import APITypes
import ActivityModel
import HTTPTypes
import JSON
import Intake
import Store
import Testing

@testable import HTTPAPI

@Suite("The route of a stream")
struct IngestRouteTests {
    private static let path = "/v1/apps/com.example.mine/ingest"
    private static let lines: HTTPFields = [.contentType: "application/x-ndjson"]

    private static func end(_ id: String) -> String { #"{"op":"end","id":"\#(id)","body":{}}"# }

    private static func send(
        _ body: String,
        to api: API = API(),
        key: String = "admin",
        headers: HTTPFields = lines
    ) async throws -> Answer {
        try await api.send(.post, path, key: key, body: body, headers: headers)
    }

    /// The answer lines; nil: an empty line.
    private static func results(_ answer: Answer) throws -> [JSONValue?] {
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/x-ndjson")
        #expect(answer.body.isEmpty || answer.body.hasSuffix("\n"))
        return try answer.body.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { $0.isEmpty ? .none : .some(try JSONValue(parsing: String($0))) }
    }

    private static func codes(_ answer: Answer) throws -> [String] {
        try results(answer).map { $0?["body"]?["code"]?.string ?? "-" }
    }

    @Test("Every operation is answered in a line, in order, as a batch answers it")
    func all() async throws {
        let api = API()
        let answers: [OperationAnswer] = [
            .change(.accepted(activityID: ActivityID(stored: "a1"), revision: 7, timestamp: nil, unchanged: false)),
            .change(.accepted(activityID: ActivityID(stored: "a1"), revision: 8, timestamp: nil, unchanged: false)),
        ]
        api.service.answerOperations([
            .success(answers[0]), .failure(Problem.notFound("the activity")), .success(answers[1]),
        ])
        let update = #"{"op":"update","id":"a1","body":\#(Bodies.update)}"#
        let answer = try await Self.send("\(update)\n\(Self.end("a2"))\r\n\(update)", to: api)
        let results = try Self.results(answer)
        #expect(results.map { $0?["status"]?.int64 } == [202, 404, 202])
        #expect(results.map { $0?["body"]?["revision"]?.int64 } == [7, nil, 8])
        #expect(results.map { $0?["body"]?["line"]?.int64 } == [nil, 2, nil])
        #expect(Set(api.service.calls) == ["batch com.example.mine"])
    }

    @Test("A line that cannot be read is answered in its place with its number and a pointer, and the stream goes on")
    func unreadable() async throws {
        let api = API()
        let bad = [
            "{", #"{"op":"restart","id":"a1","body":{}}"#, #"{"op":"end","id":"a1","body":{"colour":1}}"#, "7",
            #"{"op":"end","id":"a1","body":{"content_state":{"x":"\u0000"}}}"#,
        ]
        let answer = try await Self.send(bad.map { "\($0)\n\(Self.end("fine"))\n" }.joined(), to: api)
        let results = try Self.results(answer).map { $0?["body"] }
        let refused = results.indices.filter { $0 % 2 == 0 }.map { results[$0] }
        #expect(refused.map { $0?["code"]?.string } == ["invalid_json"] + Array(repeating: "invalid_request", count: 4))
        #expect(refused.map { $0?["line"]?.int64 } == [1, 3, 5, 7, 9])
        #expect(refused.first??["detail"]?.string?.hasPrefix("The line is not valid JSON at byte") == true)
        #expect(
            refused.map { $0?["errors"]?.array?.first?["pointer"]?.string }
                == [nil, "/op", "/colour", "", "/body/content_state/x"]
        )
        #expect(api.service.calls == ["batch com.example.mine"] + Array(repeating: "end fine", count: 5))
        #expect(api.service.origins.first??.requestID == answer.headers[.requestID])
    }

    @Test("An empty line is answered with an empty line")
    func empty() async throws {
        let answer = try await Self.send("\n\(Self.end("a"))\n \n\n")
        let results = try Self.results(answer).map { $0.map { _ in "a result" } ?? "empty" }
        #expect(results == ["empty", "a result", "empty", "empty"])
        #expect(try await Self.send("").body.isEmpty)
    }

    @Test("A line over the limit is answered with the limit, and nothing behind it is carried out")
    func tooLong() async throws {
        let api = API(maximumBodySize: 100)
        let long = String(repeating: " ", count: 101)
        let answer = try await Self.send("\(Self.end("a"))\n\(long)\n\(Self.end("b"))\n", to: api)
        let results = try Self.results(answer).map { $0?["body"] }
        #expect(results.map { $0?["code"]?.string } == ["reached", "body_too_large"])
        #expect(results.last??["limit"]?.int64 == 100)
        #expect(results.last??["line"]?.int64 == 2)
        #expect(api.service.calls == ["batch com.example.mine", "end a"])
    }

    @Test("The stream as a whole may be longer than a body")
    func long() async throws {
        let api = API(maximumBodySize: 100)
        let answer = try await Self.send(String(repeating: Self.end("a") + "\n", count: 2_500), to: api)
        #expect(try Self.codes(answer) == Array(repeating: "reached", count: 2_500))
        #expect(api.service.calls.count { $0.hasPrefix("batch") } == 3)
    }

    @Test("Each operation needs its own scope; a key with none of them is refused as a whole")
    func scopes() async throws {
        let device = #"{"op":"device","id":"d1","body":\#(Bodies.device)}"#
        let body = "\(Self.end("a1"))\n\(device)\n"
        #expect(try Self.codes(await Self.send(body, key: "publish")) == ["reached", "missing_scope"])
        #expect(try Self.codes(await Self.send(body, key: "register")) == ["missing_scope", "reached"])
        for (key, code) in [
            ("read", "missing_scope"), ("publish@com.example.other", "app_forbidden"), ("ticket", "ticket_forbidden"),
            ("nobody", "unauthorized"),
        ] {
            let api = API()
            #expect(try await Self.send(body, to: api, key: key).code == code)
            #expect(api.service.calls.isEmpty)
        }
    }

    @Test("Only lines of JSON are taken, and not compressed")
    func mediaTypes() async throws {
        for type in ["application/json", "text/plain", "application/x-ndjson2"] {
            let answer = try await Self.send(Self.end("a"), headers: [.contentType: type])
            #expect(answer.code == "unsupported_media_type")
            #expect(answer.detail == "The body must be 'application/x-ndjson'.")
        }
        #expect(try await Self.send("", headers: [.contentType: "Application/X-NDJSON; charset=utf-8"]).status == 200)
        let packed = Self.lines.merging([.contentEncoding: "gzip"])
        #expect(try await Self.send(Self.end("a"), headers: packed).code == "unsupported_content_encoding")
    }

    @Test("A key stands for its line, however that is written")
    func keys() async throws {
        let api = API()
        let line = #"{"op":"end","id":"a1","idempotency_key":"k1","body":{}}"#
        let spaced = #"{"op": "end", "body": {}, "id": "a1", "idempotency_key": "k1"}"#
        _ = try await Self.send("\(line)\n\(spaced)\n", to: api)
        let keys = api.service.idempotencyKeys.compactMap { $0 }
        #expect(keys.count == 2)
        #expect(keys.first == keys.last)
        let expected = IdempotencyKey(
            apiKeyID: "key of admin",
            app: BundleID(stored: "com.example.mine"),
            method: "POST",
            path: "/v1/apps/com.example.mine/activities/a1/end",
            key: "k1",
            bodyHash: []
        )
        #expect(keys.first?.scope == expected.scope)
    }

    @Test("The key's rate slows the stream down and refuses nothing", .timeLimit(.minutes(1)))
    func rate() async throws {
        let api = API(limits: RateLimits(requestsPerSecond: 50))
        let answer = try await Self.send(String(repeating: Self.end("a") + "\n", count: 150), to: api)
        #expect(try Self.codes(answer) == Array(repeating: "reached", count: 150))
        #expect(api.service.calls.count { $0.hasPrefix("batch") } == 3)
    }

    @Test("An outage is the answer to the lines that it hit")
    func outage() async throws {
        let api = API()
        api.service.fail(with: RecordingService.Outage())
        #expect(
            try Self.codes(await Self.send("\(Self.end("a"))\n\(Self.end("b"))\n", to: api)) == [
                "unavailable", "unavailable",
            ]
        )
    }
}

extension HTTPFields {
    fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
        var all = self
        for field in others { all[field.name] = field.value }
        return all
    }
}
