import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

/// One request that breaks one rule, or none.
struct RuleCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: Int
    let reason: String
    let request: APNSRequest
    var memory = ConnectionMemory()

    init(
        _ words: String,
        _ base: APNSRequest,
        _ status: Int,
        _ reason: String,
        memory: ConnectionMemory = ConnectionMemory(),
        change: (inout APNSRequest) -> Void = { _ in }
    ) {
        var request = base
        change(&request)
        testDescription = words
        self.status = status
        self.reason = reason
        self.request = request
        self.memory = memory
    }
}

@Suite("Apple's rules")
struct RulesTests {
    @Test("a request that keeps every rule is let in", arguments: keptRequests)
    func kept(_ name: String, _ request: APNSRequest, _ acceptance: Acceptance) {
        #expect(Self.judge(request) == .accepted(acceptance))
    }

    @Test("a request that breaks a rule is told which", arguments: RuleCase.all)
    func broken(_ example: RuleCase) {
        guard case .refused(let refusal) = Self.judge(example.request, example.memory) else {
            Issue.record("was let in")
            return
        }
        #expect(refusal.status == example.status)
        #expect(refusal.reason == example.reason)
    }

    @Test("a dead token is told since when, in milliseconds, and nothing else is told a time")
    func deathTime() {
        let dead = Self.judge(.device.path("/3/device/dead"))
        #expect(dead == .refused(APNSRefusal(status: 410, reason: "Unregistered", timestamp: 1_700_000_000_123)))
        let late = Self.judge(.device.path("/3/device/01d0"))
        #expect(late == .refused(APNSRefusal(status: 410, reason: "ExpiredToken", timestamp: 1_700_000_000_456)))
        let wrong = Self.judge(.device.path("/3/device/ffff"))
        #expect(wrong == .refused(APNSRefusal(status: 400, reason: "BadDeviceToken")))
    }

    @Test("every row of the table has an example that it answers")
    func everyRowIsTried() {
        let tried = RuleCase.all.compactMap { example -> String? in
            let inquiry = Inquiry(
                example.request,
                connection: example.memory,
                world: StubWorld(),
                now: StubWorld.now * 1000
            )
            return Rules.brokenRule(inquiry).map { "\(inquiry.endpoint.kind): \($0.condition)" }
        }
        let endpoints: [APNSRoute] = [
            .device(token: "x"), .broadcast(bundleID: "x"), .channels(bundleID: "x"), .allChannels(bundleID: "x"),
            .unknown,
        ]
        let rows = endpoints.flatMap { endpoint in
            Rules.rules(for: endpoint).map { "\(endpoint.kind): \($0.condition)" }
        }
        #expect(Set(rows).subtracting(tried).isEmpty)
    }

    @Test(
        "where the wire and Apple's pages disagree, the world may be told to go by the pages",
        arguments: [
            (
                APNSRequest.device.with { $0.authorization = "production key" },
                APNSRefusal(status: 403, reason: "BadEnvironmentKeyIdInToken")
            ),
            (.broadcast.with { $0.channelID = "AAAA" }, APNSRefusal(status: 400, reason: "ChannelNotRegistered")),
            (
                .delete.with { $0.channelID = StubWorld.deleted },
                APNSRefusal(status: 400, reason: "ChannelNotRegistered")
            ),
            (
                .list.path("/1/apps/com.example.silent/all-channels"),
                APNSRefusal(status: 400, reason: "FeatureNotEnabled")
            ),
        ]
    )
    func documented(_ request: APNSRequest, _ refusal: APNSRefusal) {
        let world = StubWorld(answersAsDocumented: true)
        let ruling = Rules.judge(request, on: ConnectionMemory(), in: world, now: StubWorld.now * 1000)
        #expect(ruling == .refused(refusal))
    }

    @Test("the table names every reason that Apple lists, and cites a source for each row")
    func table() throws {
        let rules = RulesTable().rows.map(\.rule)
        #expect(Set(rules.map(\.reason)).isSuperset(of: applesReasons))
        let printed = RulesTable().text
        let listed = try #require(try JSONValue(parsing: RulesTable().json)["rules"]?.array)
        #expect(listed.count == rules.count)
        for rule in rules {
            #expect(printed.contains("\(rule.status) \(rule.reason): \(rule.condition)"))
        }
    }

    static func judge(_ request: APNSRequest, _ memory: ConnectionMemory = ConnectionMemory()) -> Ruling {
        Rules.judge(request, on: memory, in: StubWorld(), now: StubWorld.now * 1000)
    }
}

/// Requests that keep every rule, and what they ask for.
private let keptRequests: [(String, APNSRequest, Acceptance)] = [
    ("device push", .device, .push(token: StubWorld.updateToken)),
    (
        "token in upper case", .device.path("/3/device/\(StubWorld.updateToken.uppercased())"),
        .push(token: StubWorld.updateToken)
    ),
    ("token of two digits", .device.path("/3/device/ab"), .push(token: "ab")),
    ("no priority", .device.with { $0.priority = nil }, .push(token: StubWorld.updateToken)),
    (
        "collapse id of 64 bytes", .device.with { $0.collapseID = String(repeating: "x", count: 64) },
        .push(token: StubWorld.updateToken)
    ),
    ("payload of 4096 bytes", .device.body(4096), .push(token: StubWorld.updateToken)),
    ("broadcast", .broadcast, .broadcast(bundleID: StubWorld.bundleID, channelID: StubWorld.storing)),
    (
        "broadcast, docs' spelling", .broadcast.with { $0.pushType = "Liveactivity" },
        .broadcast(bundleID: StubWorld.bundleID, channelID: StubWorld.storing)
    ),
    (
        "broadcast of 5120 bytes", .broadcast.body(5120),
        .broadcast(bundleID: StubWorld.bundleID, channelID: StubWorld.storing)
    ),
    (
        "broadcast on the ordinary host", .broadcast.at(.device),
        .broadcast(bundleID: StubWorld.bundleID, channelID: StubWorld.storing)
    ),
    (
        "expiration 0 on a channel that stores nothing",
        .broadcast.with {
            $0.channelID = StubWorld.storingNothing; $0.expiration = "0"
        }, .broadcast(bundleID: StubWorld.bundleID, channelID: StubWorld.storingNothing)
    ),
    ("create", .create, .createChannel(bundleID: StubWorld.bundleID, .mostRecent)),
    (
        "create, policy 0", .create.text(#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#),
        .createChannel(bundleID: StubWorld.bundleID, .none)
    ),
    ("read", .read, .readChannel(bundleID: StubWorld.bundleID, channelID: StubWorld.storing, .mostRecent)),
    ("delete", .delete, .deleteChannel(bundleID: StubWorld.bundleID, channelID: StubWorld.storing)),
    ("list", .list, .listChannels(bundleID: StubWorld.bundleID)),
]

/// Apple, Handling notification responses from APNs and Handling error responses from Apple Push Notification service;
/// of two spellings the one that comes over the wire.
private let applesReasons: Set<String> = [
    "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
    "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
    "MissingTopic",
    "PayloadEmpty", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment", "ExpiredProviderToken",
    "Forbidden",
    "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyInToken", "BadPath",
    "MethodNotAllowed", "ExpiredToken", "Unregistered", "PayloadTooLarge", "TooManyProviderTokenUpdates",
    "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown", "MissingChannelId", "BadChannelId",
    "ChannelNotRegistered", "MissingPushType", "BroadcastFeatureNotEnabled", "CannotCreateChannelConfig",
    "BadRequestParams", "BadRequestPayload", "TopicMismatch",
]

extension APNSRoute {
    fileprivate var kind: String {
        switch self {
        case .device: "device"
        case .broadcast: "broadcast"
        case .channels: "channels"
        case .allChannels: "all channels"
        case .unknown: "unknown"
        }
    }
}
