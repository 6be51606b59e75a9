import APITypes
import ActivityModel
import JSON
import Testing

@Suite("Policies")
struct PolicyTests {
    /// The defaults as the contract prints them, the example rules aside.
    static let defaults = """
        {"stale_after_seconds":null,"dismiss_after_seconds":null,"start_alert":null,"id_attribute":null,\
        "revision_property":null,\
        "expiration_seconds":{"start":600,"update":28800,"end":28800},\
        "budget":{"ordinary":10,"frequent":60,"window_seconds":3600,"reserve":2},\
        "start_budget":{"count":10,"window_seconds":3600},"start_retry_seconds":120,"token_wait_seconds":3600,\
        "wake_after_seconds":null,"continue_after_hours":null,"fallback_alert":false,"end_when_silent_seconds":null,\
        "on_unfollow":"keep","pending_updates":"wait","channel_storage":"most_recent","channel_grace_seconds":null,"rules":[]}
        """

    @Test("An empty policy has the contract's defaults")
    func defaults() throws {
        #expect(try Policy(json: [:]) == Policy())
        #expect(Policy().json.text == Self.defaults)
        #expect(try Policy(json: JSONValue(parsing: Self.defaults)) == Policy())
    }

    @Test("Every field is read and written back")
    func everyField() throws {
        let json: JSONValue = [
            "stale_after_seconds": 90, "dismiss_after_seconds": 0,
            "start_alert": ["title": "T", "body": ["loc_key": "B"]],
            "id_attribute": "orderID", "revision_property": "revision",
            "expiration_seconds": ["start": 0, "update": 1, "end": 2],
            "budget": ["ordinary": 5, "frequent": 6, "window_seconds": 7, "reserve": 0],
            "start_budget": ["count": 3, "window_seconds": 4], "start_retry_seconds": 8, "token_wait_seconds": 9,
            "wake_after_seconds": 10, "continue_after_hours": 7, "fallback_alert": true, "end_when_silent_seconds": 11,
            "on_unfollow": "end", "pending_updates": "pass", "channel_storage": "none", "channel_grace_seconds": 12,
            "rules": [
                ["changed": "/home_score", "urgency": "notable", "must_deliver": true],
                ["changed": "/clock", "urgency": "routine", "min_interval_seconds": 30],
            ],
        ]
        let policy = try Policy(json: json)
        #expect(policy.json == json)
        #expect(policy.staleAfterSeconds == 90)
        #expect(policy.budget.windowSeconds == 7)
        #expect(policy.rules[1].minimumIntervalSeconds == 30)
        #expect(policy.channelGrace(.none) == 12)
        #expect(policy.onUnfollow == .end)
        #expect(policy.pendingUpdates == .pass)
        #expect(policy.continueAfterHours == 7)
    }

    @Test("A card is handed over while iOS certainly still has it", arguments: [0, 8])
    func continuation(hours: Int) {
        #expect(throws: Problem.self) {
            try Policy(json: ["continue_after_hours": .number(JSONNumber(hours))])
        }
    }

    @Test("A field that is null has its default, as one that is absent")
    func nulls() throws {
        for key in Policy().json.object?.keys ?? [] {
            #expect(try Policy(json: .object([key: .null])) == Policy(), "\(key)")
        }
        let nested: JSONValue = [
            "budget": ["ordinary": nil], "rules": [["changed": "/a", "urgency": nil, "must_deliver": nil]],
        ]
        #expect(try Policy(json: nested).rules == [PolicyRule(changed: JSONPointer(tokens: ["a"]))])
    }

    @Test("Parts of a part keep their defaults")
    func partialParts() throws {
        let policy = try Policy(json: ["budget": ["ordinary": 3.0], "expiration_seconds": ["end": 1]])
        #expect(policy.budget.ordinary == 3)
        #expect(policy.budget.reserve == 2)
        #expect(policy.expiration.start == 600)
    }

    @Test(
        "A wrong field is refused with its place",
        arguments: [
            (["stale_after_seconds": -1], "/stale_after_seconds", "out_of_range"),
            (["stale_after_seconds": 1.5], "/stale_after_seconds", "wrong_type"),
            (["stale_after_seconds": "1"], "/stale_after_seconds", "wrong_type"),
            (["stale_after_seconds": 2_592_001], "/stale_after_seconds", "out_of_range"),
            (["dismiss_after_seconds": 14_401], "/dismiss_after_seconds", "out_of_range"),
            (["start_alert": "x"], "/start_alert", "wrong_type"),
            (["start_alert": ["title": "t"]], "/start_alert/body", "missing"),
            (["id_attribute": ""], "/id_attribute", "wrong_type"),
            (["revision_property": 1], "/revision_property", "wrong_type"),
            (["expiration_seconds": 5], "/expiration_seconds", "wrong_type"),
            (["expiration_seconds": ["begin": 5]], "/expiration_seconds/begin", "unknown_field"),
            (["budget": ["ordinary": 0]], "/budget/ordinary", "out_of_range"),
            (["budget": ["reserve": -1]], "/budget/reserve", "out_of_range"),
            (["budget": ["window_seconds": 0]], "/budget/window_seconds", "out_of_range"),
            (["start_budget": ["count": 0]], "/start_budget/count", "out_of_range"),
            (["start_budget": 1], "/start_budget", "wrong_type"),
            (["token_wait_seconds": "1"], "/token_wait_seconds", "wrong_type"),
            (["start_retry_seconds": 1e30], "/start_retry_seconds", "out_of_range"),
            (["fallback_alert": 1], "/fallback_alert", "wrong_type"),
            (["end_when_silent_seconds": 0], "/end_when_silent_seconds", "out_of_range"),
            (["pending_updates": "hold"], "/pending_updates", "invalid_value"),
            (["channel_storage": "all"], "/channel_storage", "invalid_value"),
            (["channel_storage": 1], "/channel_storage", "wrong_type"), (["rules": [:]], "/rules", "wrong_type"),
            (["rules": [1]], "/rules/0", "wrong_type"),
            (["rules": [["urgency": "notable"]]], "/rules/0/changed", "missing"),
            (["rules": [["changed": "score"]]], "/rules/0/changed", "invalid_value"),
            (
                ["rules": [["changed": "/a"], ["changed": "/b", "urgency": "high"]]], "/rules/1/urgency",
                "invalid_value"
            ),
            (
                ["rules": [["changed": "/a", "min_interval_seconds": 5, "urgency": "critical"]]],
                "/rules/0/min_interval_seconds", "invalid_value"
            ),
            (["rules": [["changed": "/a", "every": 5]]], "/rules/0/every", "unknown_field"),
            (["ttl": 5], "/ttl", "unknown_field"), ([], "", "wrong_type"),
        ] as [(JSONValue, String, String)]
    )
    func refused(json: JSONValue, pointer: String, code: String) throws {
        let error = try #require(throws: Problem.self) { try Policy(json: json) }
        #expect(error.errors.map(\.pointer.description) == [pointer])
        #expect(error.errors.map(\.code) == [code])
        #expect(error.errors.allSatisfy { $0.message.hasSuffix(".") })
    }

    @Test("Rules beyond the most that are accepted are refused")
    func tooManyRules() throws {
        let rules = { (count: Int) -> JSONValue in ["rules": .array(Array(repeating: ["changed": "/a"], count: count))]
        }
        #expect(try Policy(json: rules(64)).rules.count == 64)
        #expect(throws: Problem.self) { try Policy(json: rules(65)) }
    }

    @Test("The first rule whose place changed speaks")
    func rules() throws {
        var policy = Policy()
        policy.rules = [
            PolicyRule(changed: try #require(JSONPointer("/score")), urgency: .notable),
            PolicyRule(changed: try #require(JSONPointer("/clock")), minimumIntervalSeconds: 30),
        ]
        let old: JSONValue = ["score": 1, "clock": "10:00", "x": 1]
        #expect(policy.rule(from: old, to: ["score": 2, "clock": "10:01", "x": 1])?.urgency == .notable)
        #expect(policy.rule(from: old, to: ["score": 1.0, "clock": "10:01", "x": 1])?.minimumIntervalSeconds == 30)
        #expect(policy.rule(from: old, to: ["clock": "10:00", "x": 1])?.urgency == .notable)
        #expect(policy.rule(from: old, to: ["score": 1, "clock": "10:00", "x": 2]) == nil)
    }

    @Test("Expiration follows the kind, and is always 0 on a channel that stores nothing")
    func expiration() {
        let policy = Policy()
        #expect(policy.expiration(of: .start, at: 1_000) == 1_600)
        #expect(policy.expiration(of: .update, at: 1_000, storage: .mostRecent) == 29_800)
        for kind in ChangeKind.allCases {
            #expect(policy.expiration(of: kind, at: 1_000, storage: ChannelStorage.none) == 0)
        }
        var once = policy
        once.expiration.end = 0
        #expect(once.expiration(of: .end, at: 1_000) == 0)
    }

    @Test("A channel's grace time is that of its storage unless the policy says otherwise")
    func grace() {
        #expect(Policy().channelGrace(.mostRecent) == 8 * 3600)
        #expect(Policy().channelGrace(.none) == 300)
    }
}
