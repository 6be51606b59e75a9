import APITypes
import ActivityModel
import JSON
import Testing

private let typeName = ActivityTypeName(stored: "GameAttributes")

private let problems: [(Problem, Int, String)] = [
    (.invalidJSON("x"), 400, "invalid_json"), (.repeatedHeader("X"), 400, "repeated_header"),
    (.unauthorized(), 401, "unauthorized"),
    (.missingScope(.publish), 403, "missing_scope"),
    (.appForbidden(), 403, "app_forbidden"), (.ticketForbidden(), 403, "ticket_forbidden"),
    (.notFound("the activity"), 404, "not_found"),
    (.methodNotAllowed(), 405, "method_not_allowed"),
    (.bodyTooLarge(limit: 1_048_576), 413, "body_too_large"),
    (.unsupportedMediaType(), 415, "unsupported_media_type"),
    (.unsupportedContentEncoding(), 415, "unsupported_content_encoding"),
    (.invalidRequest([]), 422, "invalid_request"),
    (.unknownType(typeName), 422, "unknown_type"),
    (.invalidContentState([]), 422, "invalid_content_state"),
    (.invalidAttributes([]), 422, "invalid_attributes"),
    (.payloadTooLarge(bytes: 5_000, limit: 4_096, detail: "x"), 422, "payload_too_large"),
    (.alertRequired(), 422, "alert_required"),
    (.incompatibleSchema([]), 409, "incompatible_schema"),
    (.attributesConflict(), 409, "attributes_conflict"),
    (.activityExists(), 409, "activity_exists"),
    (.activityEnded(), 409, "activity_ended"),
    (.lateEvent(newest: Instant(unixSeconds: 0)), 409, "late_event"),
    (.appInUse("x"), 409, "app_in_use"), (.newestVersion(2), 409, "newest_version"),
    (.noDeviceToken("the user"), 409, "no_device_token"), (.channelInUse(), 409, "channel_in_use"),
    (.sweepInProgress(), 409, "sweep_in_progress"), (.scheduleSettled(.cancelled), 409, "schedule_settled"),
    (.scheduleWaits(), 409, "schedule_waits"),
    (.tooManyMustDeliver(limit: 8, retryAfter: 2), 429, "too_many_must_deliver"),
    (.idempotencyKeyReused(), 409, "idempotency_key_reused"),
    (.idempotencyInProgress(), 409, "idempotency_in_progress"),
    (.tooManyRequests(retryAfter: 3), 429, "too_many_requests"),
    (.tooManyReaders(limit: 100, retryAfter: 5), 429, "too_many_readers"),
    (.internalError(), 500, "internal_error"), (.apnsRefused("403 InvalidProviderToken"), 502, "apns_refused"),
    (.unavailable(), 503, "unavailable"), (.outcomeUnknown(), 503, "outcome_unknown"),
]

@Suite("Problems")
struct ProblemTests {
    @Test("every problem has its status and code and survives its JSON form", arguments: problems)
    func roundTrip(problem: Problem, status: Int, code: String) throws {
        #expect(problem.status == status)
        #expect(problem.code == code)
        #expect(!problem.detail.isEmpty)
        #expect(problem.retryAfter != nil || ![429, 503].contains(status))
        #expect(try Problem(json: problem.json) == problem)
    }

    /// Bodies of hundreds of kilobytes, in which nothing is right.
    static let hopeless: [(any APIRequest.Type, JSONValue)] = {
        let long = String(repeating: "k", count: 10_000)
        let numbers = JSONValue.array((0..<20_000).map { .number(JSONNumber($0)) })
        let manyFields = JSONValue.object(JSONObject((0..<20_000).map { ("f\($0)", .bool(true)) }))
        let longNames = JSONValue.object(JSONObject((0..<50).map { ("\($0)" + long, .bool(true)) }))
        return [
            (UpdateRequest.self, manyFields), (UpdateRequest.self, longNames),
            (AudienceRequest.self, ["add": ["users": numbers, "devices": numbers]]),
            (TypeRequest.self, ["swift_source": "", "policy": manyFields]),
        ]
    }()

    @Test("however much is wrong, at most 100 errors are told, and that there are more", arguments: hopeless)
    func bounded(type: any APIRequest.Type, body: JSONValue) throws {
        let problem = try #require(throws: Problem.self) { _ = try type.init(json: body) }
        #expect((1...100).contains(problem.errors.count))
        #expect(problem.detail.contains("more errors"))
        #expect(problem.json.text.utf8.count < 150_000)
    }

    @Test("who reads looks for one error more than is told, and no further")
    func lookedFor() {
        let many = JSONValue.object(JSONObject((0..<20_000).map { ("f\($0)", .bool(true)) }))
        let body: JSONValue = ["list": .array(Array(repeating: 1, count: 20_000)), "map": many, "policy": many]
        var readers = (0..<4).map { _ in ObjectReader(body, refusesUnknownFields: true) }
        _ = readers[0].required("list", .list(of: .string))
        _ = readers[1].required("map", .map("A key", \.self, name: \.self, of: .string))
        _ = readers[2].required("map", .map("A key", { _ in String?.none }, name: \.self, of: .bool))
        _ = readers[3].required("policy", .object(Policy.self))
        var unknown = ObjectReader(many, refusesUnknownFields: true)
        let isFine = unknown.finish()
        #expect(!isFine)
        #expect((readers + [unknown]).map(\.errors.count) == Array(repeating: 101, count: 5))
    }

    @Test("one hundred errors are all told, without a word of more")
    func all() throws {
        let fields = JSONObject([("content_state", [:])] + (0..<100).map { ("f\($0)", .bool(true)) })
        let problem = try #require(throws: Problem.self) { _ = try UpdateRequest(json: .object(fields)) }
        #expect(problem.errors.count == 100)
        #expect(problem.detail == "100 fields of the request are not valid.")
    }

    @Test("a batch with a thousand operations that are all wrong is answered in a few hundred kilobytes")
    func boundedBatch() {
        let fields = JSONObject((0..<100).map { ("f\($0)", .bool(true)) })
        let operations: JSONValue = ["operations": .array(Array(repeating: .object(fields), count: 1_000))]
        let batch = try? BatchRequest(json: operations)
        let results = (batch?.operations ?? []).map { operation in
            switch operation {
            case .success: BatchResult(status: 200, body: .null)
            case .failure(let problem): BatchResult(problem)
            }
        }
        #expect(results.count == 1_000)
        #expect(results.allSatisfy { (1...10).contains($0.body["errors"]?.array?.count ?? 0) })
        #expect(BatchAnswer(results: results).json.text.utf8.count < operations.text.utf8.count * 2)
    }

    @Test("no two problems share a code")
    func codesAreDistinct() {
        #expect(Set(problems.map(\.2)).count == problems.count)
    }

    @Test("the JSON form is that of RFC 9457 with code and errors")
    func json() {
        let pointer = JSONPointer(tokens: ["content_state", "home/score"])
        let error = FieldError(pointer: pointer, code: "type", message: "2.5 is not an integer.", schemaVersion: 3)
        let problem = Problem.invalidContentState([error])
        let expected =
            #"{"type":"/docs/errors/invalid_content_state","title":"Invalid content state","status":422,"#
            + #""code":"invalid_content_state","#
            + #""detail":"The content state does not match the schema of its type.","#
            + #""errors":[{"pointer":"/content_state/home~1score","code":"type","message":"2.5 is not an integer.","schema_version":3}]}"#
        #expect(problem.json.text == expected)
    }

    @Test("a problem's extra members come with it")
    func extra() {
        let json = Problem.payloadTooLarge(bytes: 5_000, limit: 4_096, detail: "Too large.").json
        #expect(json["bytes"]?.int64 == 5_000)
        #expect(json["limit"]?.int64 == 4_096)
        #expect(Problem.missingScope(.register).json["scope"]?.string == "register")
        #expect(Problem.unavailable(retryAfter: 2).json["retry_after_seconds"]?.int64 == 2)
    }

    @Test("the description that may be logged quotes no input")
    func descriptionIsSafe() {
        let error = FieldError(pointer: JSONPointer(tokens: ["a"]), code: "type", message: "'secret' is no number.")
        let problem = Problem.invalidContentState([error])
        #expect(problem.description == "422 invalid_content_state at '/a'")
    }

    @Test("what the parser of JSON refuses becomes 400 with its place")
    func invalidJSON() throws {
        let error = try #require(throws: JSONParsingError.self) { try JSONValue(parsing: #"{"a":1,"a":2}"#) }
        let problem = Problem.invalidJSON(error)
        #expect(problem.status == 400)
        #expect(problem.extra["offset"]?.int64 == Int64(error.offset))
    }
}

@Suite("Scopes")
struct ScopeTests {
    @Test(
        "a scope includes what the contract says and nothing else",
        arguments: [
            (Scope.admin, Scope.allCases),
            (.operate, [.operate, .read]),
            (.publish, [.publish, .read]),
            (.register, [.register]),
            (.read, [.read]),
        ]
    )
    func implied(scope: Scope, implied: [Scope]) {
        for other in Scope.allCases {
            #expect(Set([scope]).allow(other) == implied.contains(other))
        }
    }

    @Test("a key with several scopes may do what any of them allows")
    func several() {
        #expect(Set<Scope>([.register, .publish]).allow(.read))
        #expect(!Set<Scope>().allow(.read))
    }
}

@Suite("Pages")
struct PageTests {
    @Test("the query of a list has defaults")
    func defaults() throws {
        #expect(try PageRequest(limit: nil, cursor: nil) == PageRequest(limit: 100))
        #expect(try PageRequest(limit: "7", cursor: "x") == PageRequest(limit: 7, cursor: "x"))
    }

    @Test("a limit that is no number from 1 to 1000 is refused", arguments: ["0", "1001", "-1", "ten", ""])
    func limits(text: String) throws {
        let problem = try #require(throws: Problem.self) { try PageRequest(limit: text, cursor: nil) }
        #expect(problem.errors.map(\.pointer.description) == ["/limit"])
    }
}
