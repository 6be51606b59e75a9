import ActivityModel
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
        #expect(dead == .refused(Refusal(status: 410, reason: "Unregistered", timestamp: 1_700_000_000_123)))
        let late = Self.judge(.device.path("/3/device/01d0"))
        #expect(late == .refused(Refusal(status: 410, reason: "ExpiredToken", timestamp: 1_700_000_000_456)))
        let wrong = Self.judge(.device.path("/3/device/ffff"))
        #expect(wrong == .refused(Refusal(status: 400, reason: "BadDeviceToken")))
    }

    @Test("every row of the table has an example that it answers")
    func everyRowIsTried() {
        let endpoints: [Endpoint] = [
            .device(token: "x"), .broadcast(bundleID: "x"), .channels(bundleID: "x"), .allChannels(bundleID: "x"),
            .unknown,
        ]
        let rows = endpoints.flatMap { Rules.rules(for: $0) }
        let answers = Set(rows.map { "\($0.status) \($0.reason)" })
        let tried = Set(RuleCase.all.map { "\($0.status) \($0.reason)" })
        #expect(answers.subtracting(tried).isEmpty)
        #expect(tried.subtracting(answers).isEmpty)
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
