import APNSTransport
import ActivityModel
import Testing

/// Apple's rules for headers and sizes, each tried from both sides. A refusal is made before anything is sent: it has
/// no status.
@Suite("Requests that Apple would refuse")
struct RequestRulesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        var reason: String?
        var detail = ""
        var headers: @Sendable (inout PushHeaders) -> Void = { _ in }
        var bytes = 10
        var tokens = 1

        var testDescription: String { name }
    }

    static let devicePushes: [Case] = [
        Case(name: "as it should be"),

        Case(name: "a background push has priority 5") { set(&$0, .background, .five) },
        Case(
            name: "a background push never has priority 10",
            reason: "BadPriority",
            detail: "apns-priority of a push of type background is 5, not 10"
        ) { set(&$0, .background, .ten) },
        Case(
            name: "a background push never has priority 1",
            reason: "BadPriority",
            detail: "apns-priority of a push of type background is 5, not 1"
        ) { set(&$0, .background, .one) },
        Case(
            name: "a Live Activity never has priority 1",
            reason: "BadPriority",
            detail: "apns-priority of a push of type liveactivity is 5 or 10, not 1"
        ) { $0.priority = .one },
        Case(name: "an alert may have priority 1") { set(&$0, .alert, .one) },
        Case(name: "a location query may have priority 10") { set(&$0, .location, .ten) },

        Case(name: "one attempt") { $0.expiration = 0 },
        Case(name: "kept until then") { $0.expiration = 1_800_000_000 },
        Case(
            name: "before 1970",
            reason: "BadExpirationDate",
            detail: "apns-expiration is before 1970"
        ) { $0.expiration = -1 },

        Case(name: "a collapse id of 64 bytes") { $0.collapseID = String(repeating: "x", count: 64) },
        Case(
            name: "a collapse id of 65 bytes",
            reason: "BadCollapseId",
            detail: "apns-collapse-id has 65 bytes, 1 to 64 are allowed"
        ) { $0.collapseID = String(repeating: "x", count: 65) },
        Case(
            name: "bytes count, not characters",
            reason: "BadCollapseId",
            detail: "apns-collapse-id has 66 bytes, 1 to 64 are allowed"
        ) { $0.collapseID = String(repeating: "ä", count: 33) },
        Case(
            name: "an empty collapse id",
            reason: "BadCollapseId",
            detail: "apns-collapse-id has 0 bytes, 1 to 64 are allowed"
        ) { $0.collapseID = "" },
        Case(
            name: "a line break in the collapse id",
            reason: "BadCollapseId",
            detail: "the value of apns-collapse-id has a control character or outer blanks"
        ) { $0.collapseID = "goal\r\napns-priority: 10" },
        Case(
            name: "a NUL in the collapse id",
            reason: "BadCollapseId",
            detail: "the value of apns-collapse-id has a control character or outer blanks"
        ) { $0.collapseID = "goal\0" },
        Case(
            name: "a control character in the topic",
            reason: "BadTopic",
            detail: "the app is not named by a bundle id"
        ) { $0.bundleID = BundleID(stored: "com.example\n.Scores") },
        Case(
            name: "a control character in the id",
            reason: "BadMessageId",
            detail: "the value of apns-id has a control character or outer blanks"
        ) { $0.requestID = APNSRequestID(stored: "\u{7f}") },

        Case(name: "an id of its own") { $0.requestID = requestID },
        Case(
            name: "one id for two pushes",
            reason: "BadMessageId",
            detail: "apns-id names one push, and there are 2",
            headers: { $0.requestID = requestID },
            tokens: 2
        ),

        Case(name: "no body", reason: "PayloadEmpty", detail: "the body is empty", bytes: 0),
        Case(name: "4096 bytes", bytes: 4096),
        Case(
            name: "4097 bytes",
            reason: "PayloadTooLarge",
            detail: "the body has 4097 bytes, 4096 are allowed",
            bytes: 4097
        ),
        Case(name: "5120 bytes of a call", headers: { set(&$0, .voip, .ten) }, bytes: 5120),
        Case(
            name: "5121 bytes of a call",
            reason: "PayloadTooLarge",
            detail: "the body has 5121 bytes, 5120 are allowed",
            headers: { set(&$0, .voip, .ten) },
            bytes: 5121
        ),
    ]

    @Test("pushes to devices", arguments: devicePushes)
    func devicePush(row: Case) throws {
        var headers = PushHeaders(bundleID: try #require(BundleID("com.example.Scores")), priority: .ten)
        row.headers(&headers)
        let batch = PushBatch(
            environment: .production,
            identity: try testIdentity(),
            headers: headers,
            body: [UInt8](repeating: 32, count: row.bytes),
            tokens: TokenBuffer((0..<row.tokens).compactMap { PushToken(bytes: [UInt8($0)]) })
        )
        check(batch.refusal, row)
    }

    struct BroadcastCase: Sendable, CustomTestStringConvertible {
        let row: Case
        let change: @Sendable (inout BroadcastPush) -> Void

        var testDescription: String { row.name }

        init(_ row: Case, _ change: @escaping @Sendable (inout BroadcastPush) -> Void) {
            self.row = row
            self.change = change
        }
    }

    static let broadcasts: [BroadcastCase] = [
        BroadcastCase(Case(name: "as it should be")) { _ in },
        BroadcastCase(
            Case(
                name: "priority 1",
                reason: "BadPriority",
                detail: "apns-priority of a push of type liveactivity is 5 or 10, not 1"
            )
        ) { $0.priority = .one },
        BroadcastCase(Case(name: "kept by a channel that stores")) {
            $0.storage = .mostRecent
            $0.expiration = 1_800_000_000
        },
        BroadcastCase(
            Case(
                name: "kept by a channel that stores nothing",
                reason: "BadExpirationDate",
                detail: "apns-expiration must be 0 on a channel that stores nothing"
            )
        ) { $0.expiration = 1_800_000_000 },
        BroadcastCase(
            Case(name: "before 1970", reason: "BadExpirationDate", detail: "apns-expiration is before 1970")
        ) { $0.expiration = -1 },
        BroadcastCase(
            Case(
                name: "a control character in the channel id",
                reason: "BadChannelId",
                detail: "the value of apns-channel-id has a control character or outer blanks"
            )
        ) { $0.channelID = APNSChannelID(stored: "AAAA\u{1}") },
        BroadcastCase(Case(name: "an id of its own")) { $0.requestID = requestID },
        BroadcastCase(Case(name: "no body", reason: "PayloadEmpty", detail: "the body is empty")) { $0.body = [] },
        BroadcastCase(Case(name: "5120 bytes")) { $0.body = [UInt8](repeating: 32, count: 5120) },
        BroadcastCase(
            Case(
                name: "5121 bytes",
                reason: "PayloadTooLarge",
                detail: "the body has 5121 bytes, 5120 are allowed"
            )
        ) { $0.body = [UInt8](repeating: 32, count: 5121) },
    ]

    @Test("pushes to channels", arguments: broadcasts)
    func broadcast(row: BroadcastCase) throws {
        var push = BroadcastPush(
            environment: .production,
            identity: try testIdentity(),
            bundleID: try #require(BundleID("com.example.Scores")),
            channelID: try #require(APNSChannelID("dHN0LXNyY2gtY2hubA==")),
            storage: .none,
            priority: .five,
            expiration: 0,
            body: [123, 125]
        )
        row.change(&push)
        check(push.refusal, row.row)
    }

    private func check(_ refusal: PushOutcome?, _ row: Case) {
        let expected = row.reason.map { PushOutcome(.requestInvalid, reason: $0, detail: row.detail) }
        #expect(refusal == expected)
    }

    private static let requestID = APNSRequestID(stored: "eabeae54-14a8-11e5-b60b-1697f925ec7b")

    private static func set(_ headers: inout PushHeaders, _ type: PushType, _ priority: PushPriority) {
        headers.pushType = type
        headers.priority = priority
    }
}
