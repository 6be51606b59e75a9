import APITypes
import ActivityModel
import JSON
import Testing

/// What a table of a reader expects: a body and the errors that reading it as a type must bring.
struct BadBody: Sendable, CustomTestStringConvertible {
    let type: any APIValue.Type
    let body: JSONValue
    /// `pointer code`, in the order of reading.
    let errors: [String]

    var testDescription: String { "\(type) \(body.text)" }

    init(_ type: any APIValue.Type, _ body: JSONValue, _ errors: String...) {
        self.type = type
        self.body = body
        self.errors = errors
    }
}

private let state: JSONValue = ["homeScore": 1]
private let start: JSONObject = ["type": "GameAttributes", "attributes": [:], "content_state": state]

private func started(with fields: JSONObject) -> JSONValue {
    var object = start
    for (key, value) in fields.entries { object[key] = value }
    return .object(object)
}

private let ticket: JSONValue = ["environment": "production", "device_id": "a", "ttl_seconds": 1]

private let badBodies: [BadBody] = [
    BadBody(UpdateRequest.self, [], " wrong_type"),
    BadBody(PushRequest.self, ["to": [:], "push_type": "letter"], "/to missing", "/push_type invalid_value"),
    BadBody(
        PushRequest.self,
        ["to": ["device_id": "a", "token": "ab"], "push_type": "alert", "collapse_id": " x"],
        "/to conflict",
        "/collapse_id invalid_value"
    ),
    BadBody(
        PushRequest.self,
        ["to": ["device_id": "a", "environment": "sandbox"], "push_type": "background", "priority": 10],
        "/to/environment conflict",
        "/priority out_of_range"
    ),
    BadBody(PushRequest.self, ["to": ["user_id": "a"], "push_type": "voip"], "/to invalid_value"),
    BadBody(UserOrDevice.self, [:], " missing"),
    BadBody(UserOrDevice.self, ["user_id": "a", "device_id": "b"], " conflict"),
    BadBody(
        AppPatch.self,
        ["environments": ["production": .null, "sandbox": .null]],
        "/environments/production invalid_value",
        "/environments/sandbox invalid_value"
    ),
    BadBody(PushRequest.self, ["to": ["user_id": "a"], "push_type": "alert", "custom": []], "/custom wrong_type"),
    BadBody(
        RegistrationTicketRequest.self,
        ["environment": "production", "device_id": "a", "ttl_seconds": 86_401],
        "/ttl_seconds out_of_range"
    ),
    BadBody(TicketBatchRequest.self, ["tickets": []], "/tickets out_of_range"),
    BadBody(
        TicketBatchRequest.self,
        ["tickets": .array(Array(repeating: ticket, count: 1_001))],
        "/tickets out_of_range"
    ),
    BadBody(
        TicketBatchRequest.self,
        ["tickets": [ticket, ["environment": "production", "ttl_seconds": 0]]],
        "/tickets/1/device_id missing",
        "/tickets/1/ttl_seconds out_of_range"
    ),
    BadBody(
        WebhookRequest.self,
        ["events": "all", "max_events": 0],
        "/url missing",
        "/events wrong_type",
        "/max_events out_of_range"
    ),
    BadBody(WebhookReplayRequest.self, ["since": "2h"], "/since invalid_value"),
    BadBody(TicketKeyRequest.self, ["algorithm": "none"], "/algorithm invalid_value"),
    BadBody(UpdateRequest.self, "text", " wrong_type"),
    BadBody(UpdateRequest.self, [:], "/content_state missing"),
    BadBody(UpdateRequest.self, ["content_state": .null], "/content_state missing"),
    BadBody(UpdateRequest.self, ["content_state": []], "/content_state wrong_type"),
    BadBody(UpdateRequest.self, ["content_state": state, "urgent": true], "/urgent unknown_field"),
    BadBody(UpdateRequest.self, ["content_state": state, "a/b~c": 1], "/a~1b~0c unknown_field"),
    BadBody(UpdateRequest.self, ["content_state": state, "must_deliver": "yes"], "/must_deliver wrong_type"),
    BadBody(
        UpdateRequest.self,
        ["content_state": state, "stale_after_seconds": -1],
        "/stale_after_seconds out_of_range"
    ),
    BadBody(
        UpdateRequest.self,
        ["content_state": state, "stale_after_seconds": 1.5],
        "/stale_after_seconds wrong_type"
    ),
    BadBody(UpdateRequest.self, ["content_state": state, "at": "tomorrow"], "/at invalid_value"),
    BadBody(UpdateRequest.self, ["content_state": state, "urgency": "loud"], "/urgency invalid_value"),
    BadBody(
        UpdateRequest.self,
        ["content_state": state, "alert": ["title": 1, "subtitle": "x"]],
        "/alert/title wrong_type",
        "/alert/body missing",
        "/alert/subtitle unknown_field"
    ),
    // Everything that is wrong comes at once.
    BadBody(
        UpdateRequest.self,
        ["content_state": 1, "force": 0, "event_time": 7, "unknown": .null],
        "/content_state wrong_type",
        "/event_time wrong_type",
        "/force wrong_type",
        "/unknown unknown_field"
    ),
    BadBody(StartRequest.self, started(with: ["type": "1Game"]), "/type invalid_value"),
    BadBody(StartRequest.self, started(with: ["delivery": "pigeon"]), "/delivery invalid_value"),
    BadBody(StartRequest.self, started(with: ["environment": "staging"]), "/environment invalid_value"),
    BadBody(StartRequest.self, started(with: ["relevance_score": "high"]), "/relevance_score wrong_type"),
    BadBody(
        StartRequest.self,
        started(with: ["audience": ["users": ["a", "", "b\u{E7}c"], "all_of_type": 1, "groups": []]]),
        "/audience/users/1 invalid_value",
        "/audience/users/2 invalid_value",
        "/audience/all_of_type wrong_type",
        "/audience/groups unknown_field"
    ),
    BadBody(
        StartRequest.self,
        started(with: ["starts_at": "2022-12-18T18:00:00Z", "ends_at": "2022-12-18T18:00:00Z"]),
        "/ends_at out_of_range"
    ),
    BadBody(EndRequest.self, ["dismiss_after_seconds": 14_401], "/dismiss_after_seconds out_of_range"),
    BadBody(
        EndRequest.self,
        ["dismiss_after_seconds": 0, "dismiss_at": "2022-12-18T18:00:00Z"],
        "/dismiss_at conflict"
    ),
    BadBody(AudienceRequest.self, [:], " missing"),
    BadBody(SubscriptionRequest.self, ["generation": 1], " missing"),
    BadBody(SubscriptionRequest.self, ["update_token": "abcd", "channel": true], " conflict"),
    BadBody(SubscriptionRequest.self, ["update_token": "abc"], "/update_token invalid_value"),
    BadBody(SubscriptionRequest.self, ["update_token": "wxyz"], "/update_token invalid_value"),
    BadBody(SubscriptionRequest.self, ["channel": false], "/channel wrong_type"),
    BadBody(SubscriptionRequest.self, ["update_token": "abcd", "pending": "yes"], "/pending wrong_type"),
    BadBody(SubscriptionRequest.self, ["ended": true, "pending": true], "/pending conflict"),
    BadBody(SubscriptionRequest.self, ["ended": true, "generation": -1], "/generation out_of_range"),
    BadBody(
        DeviceRequest.self,
        ["environment": "sandbox", "start_tokens": ["Game-Attributes": ["token": "ab"], "Game": ["token": ""]]],
        "/start_tokens/Game-Attributes invalid_value",
        "/start_tokens/Game/token invalid_value"
    ),
    BadBody(
        DeviceRequest.self,
        [
            "environment": "sandbox",
            "start_tokens": .object(JSONObject((1...65).map { ("Game\($0)", ["token": "abcd"]) })),
        ],
        "/start_tokens out_of_range"
    ),
    BadBody(
        DeviceRequest.self,
        ["user_id": "ü", "os_version": "17.ö", "activities_enabled": "on"],
        "/environment missing",
        "/user_id invalid_value",
        "/os_version invalid_value",
        "/activities_enabled wrong_type"
    ),
    BadBody(
        AppRequest.self,
        ["team_id": "short", "environments": ["staging": [:], "sandbox": ["key_id": "K"]], "channel_pool": 10_001],
        "/team_id invalid_value",
        "/channel_pool out_of_range",
        "/environments/staging invalid_value",
        "/environments/sandbox/key_id invalid_value"
    ),
    BadBody(TypeRequest.self, [:], "/attributes_schema missing", "/content_state_schema missing"),
    BadBody(
        TypeRequest.self,
        ["attributes_schema": [:], "swift_source": "struct A {}"],
        "/attributes_schema conflict"
    ),
    BadBody(
        TypeRequest.self,
        ["attributes_schema": [:], "content_state_schema": [:], "supplied_schemas": ["A": true]],
        "/supplied_schemas conflict"
    ),
    BadBody(
        TypeRequest.self,
        ["swift_source": "struct A {}", "supplied_schemas": ["A": true, "B": 1, "": [:]]],
        "/supplied_schemas/B wrong_type",
        "/supplied_schemas/ invalid_value"
    ),
    BadBody(
        TypeRequest.self,
        ["attributes_schema": true, "content_state_schema": 1],
        "/content_state_schema wrong_type"
    ),
    BadBody(
        TypeRequest.self,
        ["attributes_schema": [:], "content_state_schema": [:], "policy": ["budget": ["ordinary": 0]]],
        "/policy/budget/ordinary out_of_range"
    ),
    BadBody(ValidationRequest.self, [:], " missing"),
    BadBody(ChannelRequest.self, ["storage": "all"], "/storage invalid_value"),
    BadBody(APIKeyRequest.self, ["name": "", "scopes": []], "/name out_of_range", "/scopes out_of_range"),
    BadBody(APIKeyRequest.self, ["name": "a", "scopes": ["read", "root"]], "/scopes/1 invalid_value"),
]

@Suite("Reading requests")
struct ObjectReaderTests {
    @Test("every error is found, with its pointer", arguments: badBodies)
    func errors(in bad: BadBody) {
        #expect { _ = try bad.type.init(json: bad.body) } throws: { error in
            guard let problem = error as? Problem else { return false }
            let found = problem.errors.map { "\($0.pointer) \($0.code)" }
            #expect(found == bad.errors)
            return problem.status == 422 && problem.code == "invalid_request"
        }
    }

    @Test("a word that is not on the list is answered with the list")
    func listOfWords() throws {
        let problem = try #require(throws: Problem.self) {
            try UpdateRequest(json: ["content_state": [:], "urgency": "loud"])
        }
        #expect(problem.errors[0].message == "One of 'routine', 'notable', 'critical' is expected.")
    }

    @Test("a token that is refused is not repeated in the answer")
    func tokensAreNotQuoted() throws {
        let problem = try #require(throws: Problem.self) {
            try SubscriptionRequest(json: ["update_token": "5ec2e7zz"])
        }
        #expect(!problem.json.text.contains("5ec2e7"))
    }

    @Test("answers may carry fields that an older client does not know")
    func answersIgnoreUnknownFields() throws {
        let counts = try AudienceCounts(json: ["devices": 3, "unknown_users": 1, "new": [:]])
        #expect(counts == AudienceCounts(devices: 3, unknownUsers: 1))
    }

    @Test("numbers of a content state keep their digits")
    func digitsSurvive() throws {
        let text = #"{"content_state":{"price":1.50,"big":12345678901234567890}}"#
        let request = try UpdateRequest(json: JSONValue(parsing: text))
        #expect(request.json.text == text)
    }
}
