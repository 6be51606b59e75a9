import APITypes
import ActivityModel
import Cryptography
import HTTPTypes
import JSON
import TestSupport
import Testing

@testable import HTTPAPI
import Store

@Suite("Requests")
struct RequestTests {
    private static let update = "/v1/apps/com.example.mine/activities/a1/updates"

    // MARK: Who

    @Test(
        "Without a key the answer is 401 with a challenge, on every path but health",
        arguments: [
            "/v1/apps", "/v1/nothing", "/metrics",
        ]
    )
    func noKey(path: String) async throws {
        let answer = try await API().send(.get, path, key: nil)
        #expect(answer.status == 401)
        #expect(answer.code == "unauthorized")
        #expect(answer.headers[.wwwAuthenticate] == #"Bearer realm="tally""#)
    }

    @Test(
        "A key that is not known, or not sent as a bearer token, is 401",
        arguments: [
            "Bearer wrong", "Bearer", "Bearer  ", "Basic admin", "admin", "Bearer admin admin",
        ]
    )
    func wrongKey(header: String) async throws {
        let api = API()
        let answer = try await api.send(.get, "/v1/apps", key: nil, headers: [.authorization: header])
        #expect(answer.status == 401)
        #expect(answer.headers[.wwwAuthenticate] == #"Bearer realm="tally", error="invalid_token""#)
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "The word Bearer is taken in any case, with as many blanks behind it as there are",
        arguments: ["bearer admin", "BEARER admin", "Bearer   admin", "bEARER  admin"]
    )
    func bearerForms(header: String) async throws {
        let answer = try await API().send(.get, "/v1/apps", key: nil, headers: [.authorization: header])
        #expect(answer.code == "reached")
    }

    // MARK: The body

    @Test("A body that is announced as too long is 413 before the key is looked at")
    func announcedTooLong() async throws {
        let api = API(maximumBodySize: 100)
        let answer = try await api.send(.post, Self.update, key: nil, body: "{}", headers: [.contentLength: "101"])
        #expect(answer.status == 413)
        #expect(answer.code == "body_too_large")
        #expect(answer.json?["limit"]?.int64 == 100)
    }

    @Test(
        "What a phone reports is 413 beyond 16 KiB, announced or not",
        arguments: ["/devices/d1", "/activities/a1/subscriptions/d1"],
        ["ticket", "admin"]
    )
    func longReport(path: String, key: String) async throws {
        let api = API()
        func report(_ length: Int, _ headers: HTTPFields = [:]) async throws -> Answer {
            let body = #"{"environment":"production","x":""# + String(repeating: "x", count: length - 35) + #""}"#
            #expect(body.utf8.count == length)
            return try await api.send(.put, "/v1/apps/com.example.mine" + path, key: key, body: body, headers: headers)
        }
        for headers in [[:], [.contentLength: "100"]] as [HTTPFields] {
            let refused = try await report(16_385, headers)
            #expect(refused.status == 413)
            #expect(refused.json?["limit"]?.int64 == 16_384)
        }
        // The field is unknown, which only the whole body says.
        #expect(try await report(16_384).status == 422)
        #expect(api.service.calls.isEmpty)
    }

    @Test("A body that turns out to be too long is 413")
    func streamedTooLong() async throws {
        let body = #"{"content_state":{"a":"\#(String(repeating: "x", count: 200))"}}"#
        let api = API(maximumBodySize: 100)
        let answer = try await api.send(.post, Self.update, body: body, headers: [.contentLength: "50"])
        #expect(answer.status == 413)
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "A body of another media type is 415",
        arguments: ["text/plain", "application/jsonp", "application/x-www-form-urlencoded"]
    )
    func mediaType(type: String) async throws {
        let answer = try await API().send(.post, Self.update, body: Bodies.update, headers: [.contentType: type])
        #expect(answer.status == 415)
        #expect(answer.code == "unsupported_media_type")
    }

    @Test(
        "JSON with parameters, in any case, is taken",
        arguments: [
            "application/json; charset=utf-8", "Application/JSON", "application/json ;charset=utf-8",
        ]
    )
    func mediaTypeWithParameters(type: String) async throws {
        let answer = try await API().send(.post, Self.update, body: Bodies.update, headers: [.contentType: type])
        #expect(answer.code == "reached")
    }

    @Test(
        "A compressed body is 415, which says so, before the key is looked at",
        arguments: ["gzip", "br", "deflate", "GZip", "identity, gzip", "x-unknown"]
    )
    func contentEncoding(encoding: String) async throws {
        let headers: HTTPFields = [.contentEncoding: encoding]
        let api = API()
        let answer = try await api.send(.post, Self.update, key: nil, body: Bodies.update, headers: headers)
        #expect(answer.status == 415)
        #expect(answer.code == "unsupported_content_encoding")
        #expect(answer.headers[.acceptEncoding] == "identity")
        #expect(api.service.calls.isEmpty)
    }

    @Test("A body that says it is as it is, is taken", arguments: ["identity", "Identity", "", "identity, identity"])
    func contentEncodingOfNothing(encoding: String) async throws {
        let headers: HTTPFields = [.contentEncoding: encoding]
        let answer = try await API().send(.post, Self.update, body: Bodies.update, headers: headers)
        #expect(answer.code == "reached")
    }

    @Test("A request without a body may say of it what it likes")
    func contentEncodingWithoutBody() async throws {
        let answer = try await API().send(.get, "/v1/apps", headers: [.contentEncoding: "gzip"])
        #expect(answer.code == "reached")
    }

    @Test(
        "What is not JSON is 400 with the byte where it went wrong",
        arguments: [
            ("", 0), ("{", 1), (#"{"content_state":{}}}"#, 20), (#"{"content_state":{},"content_state":{}}"#, 20),
            (#"{"content_state":NaN}"#, 17),
        ]
    )
    func invalidJSON(body: String, offset: Int64) async throws {
        let api = API()
        let answer = try await api.send(.post, Self.update, body: body)
        #expect(answer.status == 400)
        #expect(answer.code == "invalid_json")
        #expect(answer.detail?.hasSuffix(".") == true)
        #expect(answer.detail?.hasSuffix("..") == false)
        #expect(answer.json?["offset"]?.int64 == offset)
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "A text or a name with U+0000 is refused, with the field",
        arguments: [
            (#"{"content_state":{"a":{"b":["","x\u0000"]}}}"#, "/content_state/a/b/1"),
            (#"{"content_state":{"a":{"\u0000":1}}}"#, "/content_state/a"),
            (#"{"content_state":{},"alert":{"title":"\u0000","body":""}}"#, "/alert/title"),
            (#"{"content_state":{},"\u0000":1}"#, ""),
        ]
    )
    func nul(body: String, pointer: String) async throws {
        let api = API()
        let answer = try await api.send(.post, Self.update, body: body)
        #expect(answer.status == 422)
        #expect(answer.code == "invalid_request")
        #expect(answer.json?["errors"]?.array?.map { $0["pointer"]?.string } == [pointer])
        #expect(api.service.calls.isEmpty)
    }

    @Test("What only looks like U+0000 is taken: a backslash that is escaped")
    func noNUL() async throws {
        let answer = try await API().send(.post, Self.update, body: #"{"content_state":{"a":"\\u0000"}}"#)
        #expect(answer.code == "reached")
    }

    @Test("All fields that are wrong are reported at once, with pointers")
    func fieldErrors() async throws {
        let answer = try await API().send(.post, Self.update, body: #"{"content_state":[],"colour":1}"#)
        #expect(answer.status == 422)
        #expect(answer.code == "invalid_request")
        let pointers = answer.json?["errors"]?.array?.compactMap { $0["pointer"]?.string } ?? []
        #expect(Set(pointers) == ["/content_state", "/colour"])
    }

    // MARK: The query

    @Test(
        "Query parameters that are unknown, repeated or out of range are 422",
        arguments: [
            "/v1/apps?colour=red", "/v1/apps?limit=1&limit=2", "/v1/apps?limit=0", "/v1/apps?limit=1001",
            "/v1/apps?limit=ten", "/v1/apps?limit=%zz", "/v1/apps/com.example.mine?limit=1",
            "/v1/apps/com.example.mine/activities?state=lively", "/v1/apps/com.example.mine/activities?type=1st",
        ]
    )
    func invalidQuery(path: String) async throws {
        let api = API()
        let answer = try await api.send(.get, path)
        #expect(answer.status == 422)
        #expect(answer.code == "invalid_request")
        #expect(api.service.calls.isEmpty)
    }

    @Test("A flag is true or false, and nothing else")
    func flags() async throws {
        let path = "/v1/apps/com.example.mine/types/Game"
        let api = API()
        _ = try await api.send(.put, path + "?force=false", body: Bodies.type)
        let wrong = try await api.send(.put, path + "?force=1", body: Bodies.type)
        #expect(wrong.status == 422)
        #expect(wrong.detail == "The query parameter 'force' must be one of 'true', 'false'.")
        #expect(api.service.calls == ["putType com.example.mine Game"])
    }

    @Test("A word that is none of a list is answered with the list, in the query and in the path")
    func words() async throws {
        let api = API()
        let mine = "/v1/apps/com.example.mine"
        let state = try await api.send(.get, mine + "/activities?state=lively")
        #expect(state.detail == "The query parameter 'state' must be one of 'scheduled', 'live', 'ended'.")
        let environment = try await api.send(.delete, mine + "/halts/produktion")
        #expect(environment.code == "invalid_request")
        #expect(environment.detail == "'environment' in the path must be one of 'sandbox', 'production'.")
        #expect(api.service.calls.isEmpty)
    }

    @Test(
        "What a path or a query cannot mean is answered with what it has to look like",
        arguments: [
            ("/activities/a%09b", "'activity_id' in the path is not valid. An id of 1 to 128 printable"),
            ("/channels/7", "'channel_id' in the path is not valid. A UUID is expected."),
            ("/schedules/7", "'schedule_id' in the path is not valid. A UUID is expected."),
            ("/types/4x", "'type' in the path is not valid. The name of a Swift type"),
            ("/devices?user_id=a%00b", "The query parameter 'user_id' is not valid. An id of 1 to 128 printable"),
            ("/activities?type=", "The query parameter 'type' is not valid. The name of a Swift type"),
        ]
    )
    func forms(path: String, detail: String) async throws {
        let api = API()
        let answer = try await api.send(.get, "/v1/apps/com.example.mine" + path)
        #expect(answer.status == 422)
        #expect(answer.code == "invalid_request")
        #expect(answer.detail?.hasPrefix(detail) == true)
        #expect(api.service.calls.isEmpty)
    }

    // MARK: Header fields

    @Test(
        "A field that may come once only and comes twice is 400, by name, and nothing is done",
        arguments: [
            (HTTPField.Name.authorization, "Bearer publish", "Bearer admin"),
            (.authorization, "Bearer publish", "Bearer publish"), (.authorization, "Bearer wrong", "Bearer admin"),
            (.idempotencyKey, "one", "two"), (.idempotencyKey, "one", "one"),
            (.contentType, "application/json", "application/json"), (.contentType, "text/plain", "application/json"),
            (.lastEventID, "7-1", "8-1"),
        ]
    )
    func repeatedField(name: HTTPField.Name, first: String, second: String) async throws {
        let api = API()
        let answer = try await api.send(
            .post,
            Self.update,
            key: name == .authorization ? nil : "publish",
            body: Bodies.update,
            headers: [name: first, name: second]
        )
        #expect(answer.status == 400)
        #expect(answer.code == "repeated_header")
        #expect(answer.detail?.contains("'\(name.rawName)'") == true)
        #expect(api.service.calls.isEmpty)
    }

    @Test("A traceparent that comes twice is none, and so is an X-Request-Id")
    func repeatedTrace() async throws {
        let api = API()
        let traces = ["a", "b"].map { "00-0af7651916cd43dd8448eb211c80319\($0)-b7ad6b7169203331-01" }
        let answer = try await api.send(
            .get,
            "/v1/apps",
            headers: [.traceParent: traces[0], .traceParent: traces[1], .requestID: "mine", .requestID: "yours"]
        )
        #expect(answer.code == "reached")
        #expect(!api.log.all.contains { $0.contains("0af7651916cd43dd8448eb211c80319") })
        let id = answer.headers[.requestID]
        #expect(id != nil && id?.contains("mine") == false && id?.contains("yours") == false)
    }

    @Test("What a caller accepts may stand in several fields")
    func repeatedAccept() {
        for types in [["application/json", "text/event-stream"], ["text/event-stream", "application/json"]] {
            let fields = RequestFields([.accept: types[0], .accept: types[1]])
            #expect(StreamTerms(accept: fields.accept).wantsEventStream)
        }
    }

    // MARK: Idempotency

    @Test("An Idempotency-Key goes to the service with all that it depends on")
    func idempotencyKey() async throws {
        let api = API()
        _ = try await api.send(
            .post,
            Self.update,
            key: "publish",
            body: Bodies.update,
            headers: [.idempotencyKey: "goal-23"]
        )
        let key = try #require(api.service.idempotencyKeys.first ?? nil)
        let expected = IdempotencyKey(
            apiKeyID: "key of publish",
            app: BundleID(stored: "com.example.mine"),
            method: "POST",
            path: Self.update,
            key: "goal-23",
            bodyHash: SHA256.hash(Bodies.update)
        )
        #expect(key == expected)
    }

    @Test("However a caller spells the ids in a path, its Idempotency-Key is one")
    func spelledPath() async throws {
        let api = API()
        let spellings = [
            "com.example.mine/activities/id:1", "com.example.mine/activities/id%3A1",
            "com.example.mine/activities/id%3a1", "com%2Eexample.mine/activities/%69d%3A1",
        ]
        for spelling in spellings {
            let path = "/v1/apps/\(spelling)/updates"
            _ = try await api.send(.post, path, body: Bodies.update, headers: [.idempotencyKey: "goal-23"])
        }
        let keys = api.service.idempotencyKeys.compactMap { $0 }
        #expect(keys.count == spellings.count)
        #expect(Set(keys).count == 1)
        _ = try await api.send(
            .post,
            "/v1/apps/com.example.mine/activities/id%3A2/updates",
            body: Bodies.update,
            headers: [.idempotencyKey: "goal-23"]
        )
        #expect(Set(api.service.idempotencyKeys).count == 2)
    }

    @Test("Without the header there is no idempotency key")
    func noIdempotencyKey() async throws {
        let api = API()
        _ = try await api.send(.post, Self.update, body: Bodies.update)
        #expect(api.service.idempotencyKeys == [nil])
    }

    @Test("An Idempotency-Key of no or too many bytes is 422", arguments: [0, 256])
    func idempotencyKeyLength(count: Int) async throws {
        let text = String(repeating: "k", count: count)
        let answer = try await API().send(.post, Self.update, body: Bodies.update, headers: [.idempotencyKey: text])
        #expect(answer.status == 422)
    }
}
