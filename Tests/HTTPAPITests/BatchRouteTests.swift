import APITypes
import ActivityModel
import Cryptography
import HTTPTypes
import JSON
import Intake
import Testing

@testable import HTTPAPI
import Store

@Suite("The batch route")
struct BatchRouteTests {
    private static let path = "/v1/apps/com.example.mine/batch"

    private static let everything = #"""
        {"operations":[
            {"op":"start","id":"a1","body":\#(Bodies.start)},
            {"op":"update","id":"a1","idempotency_key":"k1","body":\#(Bodies.update)},
            {"op":"end","id":"a1","body":{}},
            {"op":"device","id":"d1","body":\#(Bodies.device)},
            {"op":"subscription","id":"a1","device_id":"d1","body":\#(Bodies.subscription)}
        ]}
        """#

    private func codes(_ answer: Answer) throws -> [String] {
        let results = try #require(answer.json?["results"]?.array)
        #expect(results.allSatisfy { $0["status"]?.int64 == $0["body"]?["status"]?.int64 }, "All are problems here.")
        return results.map { $0["body"]?["code"]?.string ?? "?" }
    }

    @Test("The service is asked for every operation, and answers in their order")
    func all() async throws {
        let api = API()
        let answer = try await api.send(.post, Self.path, body: Self.everything)
        #expect(answer.status == 200)
        #expect(try codes(answer) == Array(repeating: "reached", count: 5))
        #expect(
            api.service.calls == [
                "batch com.example.mine", "start a1", "update a1", "end a1", "device d1", "subscription a1 d1",
            ]
        )
    }

    @Test("Each operation needs its own scope; a key with none of them is refused as a whole")
    func scopes() async throws {
        for (key, expected) in [
            ("publish", ["reached", "reached", "reached", "missing_scope", "missing_scope"]),
            ("register", ["missing_scope", "missing_scope", "missing_scope", "reached", "reached"]),
            ("register@com.example.mine", ["missing_scope", "missing_scope", "missing_scope", "reached", "reached"]),
        ] {
            #expect(try codes(try await API().send(.post, Self.path, key: key, body: Self.everything)) == expected)
        }
        for key in ["read", "operate", "publish@com.example.other"] {
            let api = API()
            let answer = try await api.send(.post, Self.path, key: key, body: Self.everything)
            #expect(answer.status == 403)
            #expect(api.service.calls.isEmpty)
        }
    }

    @Test(
        "An operation that cannot be read is answered in its place, with a pointer, and the others are carried out",
        arguments: [
            (#"{"op":"restart","id":"a1","body":{}}"#, "/op"),
            (#"{"op":"update","id":"ä","body":{"content_state":{}}}"#, "/id"),
            (#"{"op":"update","id":"a1","device_id":"d1","body":{"content_state":{}}}"#, "/device_id"),
            (#"{"op":"subscription","id":"a1","body":{"channel":true}}"#, "/device_id"),
            (#"{"op":"update","id":"a1","idempotency_key":"","body":{"content_state":{}}}"#, "/idempotency_key"),
            (#"{"op":"update","id":"a1"}"#, "/body"),
            (#"{"op":"update","id":"a1","body":{}}"#, "/content_state"),
            (#"{"op":"update","id":"a1","body":{"content_state":{}},"colour":1}"#, "/colour"),
            ("7", ""),
        ]
    )
    func unreadable(operation: String, pointer: String) async throws {
        let api = API()
        let fine = #"{"op":"end","id":"a2","body":{}}"#
        let answer = try await api.send(
            .post,
            Self.path,
            body: #"{"operations":[\#(fine),\#(operation),\#(fine)]}"#
        )
        #expect(try codes(answer) == ["reached", "invalid_request", "reached"])
        let problem = answer.json?["results"]?.array?[1]["body"]
        #expect(problem?["errors"]?.array?.first?["pointer"]?.string == pointer)
        #expect(api.service.calls == ["batch com.example.mine", "end a2", "end a2"])
    }

    @Test("Each result stands in the place of its operation, with the status that the operation's own route would have")
    func places() async throws {
        let api = API()
        func change(_ revision: Int64) -> Intake.OperationResult {
            .success(
                .change(
                    .accepted(
                        activityID: ActivityID(stored: "a1"),
                        revision: revision,
                        timestamp: nil,
                        unchanged: false
                    )
                )
            )
        }
        let start = StartAnswer(
            activityID: ActivityID(stored: "a1"),
            state: .live,
            revision: 1,
            timestamp: 1,
            audience: AudienceCounts(devices: 0, unknownUsers: 0)
        )
        let card = SubscriptionAnswer(
            activityID: ActivityID(stored: "a1"),
            deviceID: DeviceID(stored: "d1"),
            mode: .token,
            state: .due,
            revision: 3,
            activityState: .live
        )
        api.service.answerOperations([
            .success(.start(start, replay: false)), .success(.start(start, replay: true)), change(2),
            .failure(Problem.activityEnded()), change(3), .success(.subscription(card)),
            .failure(RecordingService.Outage()), .failure(RecordingService.Mistake(description: "secret")),
        ])
        let starts =
            #"{"op":"start","id":"a1","body":\#(Bodies.start)},{"op":"start","id":"a1","body":\#(Bodies.start)}"#
        let update = #"{"op":"update","id":"a1","body":\#(Bodies.update)}"#
        let report = #"{"op":"subscription","id":"a1","device_id":"d1","body":\#(Bodies.subscription)}"#
        let answer = try await api.send(
            .post,
            Self.path,
            body: #"{"operations":[\#(starts),7,\#(update),\#(update),\#(update),\#(report),\#(update),\#(update)]}"#
        )
        let results = try #require(answer.json?["results"]?.array)
        #expect(results.map { $0["status"]?.int64 } == [202, 200, 422, 202, 409, 202, 200, 503, 500])
        #expect(results.map { $0["body"]?["revision"]?.int64 } == [1, 1, nil, 2, nil, 3, 3, nil, nil])
        #expect(!answer.body.contains("secret"))
    }

    @Test("Of an operation in which very much is wrong ten errors are told, and that there are more")
    func manyErrors() async throws {
        let api = API()
        let invalid = Problem.invalidContentState(
            (0..<100).map { FieldError(pointer: .init(tokens: ["\($0)"]), code: "type", message: "It is wrong.") }
        )
        api.service.answerOperations([.failure(invalid)])
        let unknown = (0..<100).map { #""f\#($0)":1"# }.joined(separator: ",")
        let unreadable = #"{"op":"update","id":"a1","body":{"content_state":{},\#(unknown)}}"#
        let update = #"{"op":"update","id":"a1","body":\#(Bodies.update)}"#
        let answer = try await api.send(.post, Self.path, body: #"{"operations":[\#(unreadable),\#(update)]}"#)
        let problems = try #require(answer.json?["results"]?.array).compactMap { $0["body"] }
        #expect(problems.map { $0["code"]?.string } == ["invalid_request", "invalid_content_state"])
        for problem in problems {
            #expect(problem["errors"]?.array?.count == 10)
            #expect(problem["detail"]?.string?.contains("more errors") == true)
        }
    }

    @Test("A batch of none, of more than 1,000, or of no array is refused as a whole")
    func size() async throws {
        let many = Array(repeating: #"{"op":"end","id":"a","body":{}}"#, count: 1_001).joined(separator: ",")
        for body in [#"{"operations":[]}"#, #"{"operations":[\#(many)]}"#, #"{"operations":{}}"#, "{}"] {
            let api = API()
            let answer = try await api.send(.post, Self.path, body: body)
            #expect(answer.code == "invalid_request")
            #expect(api.service.calls.isEmpty)
        }
        let full = Array(repeating: #"{"op":"end","id":"a","body":{}}"#, count: 1_000).joined(separator: ",")
        let answer = try await API().send(.post, Self.path, body: #"{"operations":[\#(full)]}"#)
        #expect(try codes(answer).count == 1_000)
    }

    @Test(
        "A large batch is read when it is its turn, and the service is told how long that took; a small one at once",
        .timeLimit(.minutes(1))
    )
    func turns() async throws {
        let clock = ManualClock()
        let turns = ReadingTurns(count: 1) { clock.now }
        let api = API(turns: turns)
        let small = #"{"operations":[{"op":"end","id":"small","body":{}}]}"#
        let large = #"{"operations":[\#(String(repeating: " ", count: 8 << 10)){"op":"end","id":"large","body":{}}]}"#
        _ = try await turns.begin()
        async let waiting = api.send(.post, Self.path, body: large)
        try await turns.waiting(1)
        #expect(try await api.send(.post, Self.path, body: small).status == 200)
        #expect(api.service.calls == ["batch com.example.mine", "end small"])
        clock.advance(by: .seconds(3))
        turns.end()
        #expect(try await waiting.status == 200)
        #expect(api.service.calls.last == "end large")
        #expect(api.service.waits == [.zero, .seconds(3)])
    }

    @Test("A key stands for its operation, however that is written")
    func keys() async throws {
        let api = API()
        let one = #"{"op":"update","id":"a1","idempotency_key":"k1","body":{"content_state":{"n":1.0}}}"#
        let spaced = #"{"op": "update", "id": "a1", "body": {"content_state": {"n": 1.0}}, "idempotency_key": "k1"}"#
        let other = #"{"op":"update","id":"a2","idempotency_key":"k1","body":{"content_state":{"n":1.0}}}"#
        _ = try await api.send(.post, Self.path, body: #"{"operations":[\#(one),\#(spaced),\#(other)]}"#)
        let keys = api.service.idempotencyKeys.compactMap { $0 }
        #expect(keys.count == 3)
        let expected = IdempotencyKey(
            apiKeyID: "key of admin",
            app: BundleID(stored: "com.example.mine"),
            method: "POST",
            path: "/v1/apps/com.example.mine/activities/a1/updates",
            key: "k1",
            bodyHash: SHA256.hash(#"{"content_state":{"n":1.0}}"#)
        )
        #expect(keys[0] == expected)
        #expect(keys[1] == expected)
        #expect(keys[2].scope != expected.scope, "It is another activity.")
    }

    @Test("A key stands for the same in a batch and as the header of the operation's own route")
    func keyOfRoute() async throws {
        let app = "/v1/apps/com.example.mine"
        let bodies = [(op: "update", path: "updates", body: Bodies.update), (op: "end", path: "end", body: "{}")]
        for (op, path, body) in bodies {
            let spellings = [
                ("a1", "a1"), ("a1", "%61%31"), ("a/1", "a%2F1"), ("a/1", "a%2f1"), ("id:1", "id:1"),
                ("id:1", "id%3A1"),
            ]
            for (id, encoded) in spellings {
                let api = API()
                let operation = #"{"op":"\#(op)","id":"\#(id)","idempotency_key":"k1","body":\#(body)}"#
                _ = try await api.send(.post, Self.path, body: #"{"operations":[\#(operation)]}"#)
                let route = "\(app)/activities/\(encoded)/\(path)"
                _ = try await api.send(.post, route, body: body, headers: [.idempotencyKey: "k1"])
                let keys = api.service.idempotencyKeys.compactMap { $0 }
                #expect(keys.count == 2)
                #expect(keys.first == keys.last)
            }
        }
    }

    @Test("An outage is the answer to the operations that it hit")
    func outage() async throws {
        let api = API()
        api.service.fail(with: RecordingService.Outage())
        let answer = try await api.send(.post, Self.path, body: Self.everything)
        #expect(answer.status == 200)
        #expect(try codes(answer) == Array(repeating: "unavailable", count: 5))
    }
}
