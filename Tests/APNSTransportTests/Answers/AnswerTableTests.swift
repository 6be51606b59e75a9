import Foundation
import Testing

@testable import APNSTransport

/// Apple's reasons, written down a second time from the documentation, so that the table has a judge.
@Suite("What Apple's answers mean")
struct AnswerTableTests {
    private static let device: [APNSRequestKind] = [.devicePush]
    private static let broadcast: [APNSRequestKind] = [.broadcastPush]
    private static let channels: [APNSRequestKind] = [
        .channelCreation, .channelReading, .channelDeletion, .channelList,
    ]

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let reason: String
        let kinds: [APNSRequestKind]
        let expected: PushOutcome.Class
        var advice = ConnectionAdvice.keep

        init(
            _ status: Int,
            _ reason: String,
            _ kinds: [APNSRequestKind],
            _ expected: PushOutcome.Class,
            _ advice: ConnectionAdvice = .keep
        ) {
            self.status = status
            self.reason = reason
            self.kinds = kinds
            self.expected = expected
            self.advice = advice
        }

        var testDescription: String { "\(status) \(reason)" }
    }

    static let rows: [Row] = [
        Row(400, "BadDeviceToken", device, .tokenRejected),
        Row(400, "DeviceTokenNotForTopic", device, .tokenRejected),
        Row(400, "BadTopic", device, .requestInvalid),
        Row(400, "MissingTopic", device, .requestInvalid),
        Row(400, "TopicDisallowed", device + broadcast + channels, .credential, .replaceOld),
        Row(400, "BadCollapseId", device, .requestInvalid),
        Row(400, "BadMessageId", device + broadcast, .requestInvalid),
        Row(400, "BadPriority", device + broadcast, .requestInvalid),
        Row(400, "DuplicateHeaders", device, .requestInvalid),
        Row(400, "BadExpirationDate", device + broadcast, .requestInvalid),
        Row(400, "InvalidPushType", device + broadcast + channels, .requestInvalid),
        Row(400, "MissingPushType", broadcast + channels, .requestInvalid),
        Row(400, "MissingDeviceToken", device, .requestInvalid),
        Row(400, "PayloadEmpty", device + broadcast, .requestInvalid),
        Row(400, "IdleTimeout", device, .retry, .replace),
        Row(400, "MissingChannelId", broadcast + channels, .requestInvalid),
        Row(400, "BadChannelId", broadcast + channels, .channelGone),
        Row(400, "ChannelNotRegistered", broadcast + channels, .channelGone),
        Row(400, "FeatureNotEnabled", broadcast + channels, .credential),
        Row(400, "BroadcastFeatureNotEnabled", broadcast + channels, .credential),
        Row(400, "CannotCreateChannelConfig", [.channelCreation], .retry),
        Row(400, "BadRequestParams", broadcast + channels, .requestInvalid),
        Row(400, "BadRequestPayload", broadcast + channels, .requestInvalid),
        Row(403, "BadCertificate", device + broadcast + channels, .credential),
        Row(403, "BadCertificateEnvironment", device + broadcast + channels, .credential),
        Row(403, "ExpiredProviderToken", device + broadcast + channels, .credential, .renewToken),
        Row(403, "InvalidProviderToken", device + broadcast + channels, .credential),
        Row(403, "MissingProviderToken", device + broadcast + channels, .requestInvalid),
        Row(403, "UnrelatedKeyIdInToken", device, .retry, .replace),
        Row(403, "BadEnvironmentKeyIdInToken", device, .credential),
        Row(403, "BadEnvironmentKeyInToken", device, .credential),
        Row(403, "Forbidden", device, .credential),
        Row(403, "TopicMismatch", broadcast + channels, .credential, .replaceOld),
        Row(404, "BadPath", device + broadcast + [.channelCreation, .channelReading, .channelList], .requestInvalid),
        Row(404, "BadPath", [.channelDeletion], .channelGone),
        Row(405, "MethodNotAllowed", device + broadcast + channels, .requestInvalid),
        Row(410, "Unregistered", device, .tokenDead(at: nil)),
        Row(410, "ExpiredToken", device, .tokenDead(at: nil)),
        Row(413, "PayloadTooLarge", device + broadcast, .requestInvalid),
        Row(429, "TooManyRequests", device + broadcast + channels, .retry),
        Row(429, "TooManyProviderTokenUpdates", device + broadcast + channels, .retry, .keepToken),
        Row(500, "InternalServerError", device + broadcast + channels, .retry),
        Row(503, "ServiceUnavailable", device + broadcast + channels, .retry),
        Row(503, "Service Unavailable", broadcast, .retry),
        Row(503, "Shutdown", device + broadcast + channels, .retry, .replace),
    ]

    @Test("each reason means what Apple documents, or what was recorded", arguments: rows)
    func meaning(row: Row) {
        for kind in row.kinds {
            let answer = APNSAnswer(kind, status: row.status, body: Array(#"{"reason":"\#(row.reason)"}"#.utf8))
            #expect(answer.outcome.class == row.expected, "\(kind)")
            #expect(answer.advice == row.advice, "\(kind)")
            #expect(answer.outcome.status == row.status)
            #expect(answer.outcome.reason == row.reason)
        }
    }

    @Test("every row of the table is judged by these tests, and none is there twice")
    func completeness() {
        var seen: Set<String> = []
        for rule in AnswerRules.table {
            #expect(Self.rows.contains { $0.status == rule.status && $0.reason == rule.reason }, "\(rule.reason)")
            for kind in rule.kinds {
                #expect(seen.insert("\(kind) \(rule.status) \(rule.reason)").inserted)
            }
        }
    }

    @Test("every row cites the page of Apple's that is about its API, or says that it was recorded")
    func sources() {
        for rule in AnswerRules.table {
            #expect(!rule.sources.isEmpty, "\(rule.reason)")
            if rule.sources.contains(.errors) {
                #expect(rule.kinds.contains { $0 != .devicePush }, "\(rule.reason)")
            }
            if rule.sources == [.responses] || rule.sources == [.responses, .errors] {
                #expect(rule.kinds.contains(.devicePush), "\(rule.reason)")
            }
        }
    }

    @Test("what is wrong with one push alone does not hold up its batch")
    func commonFaults() {
        let own = AnswerRules.table.filter { rule in
            guard rule.kinds.contains(.devicePush) else { return false }
            let body = Array(#"{"reason":"\#(rule.reason)"}"#.utf8)
            let outcome = APNSAnswer(.devicePush, status: rule.status, body: body).outcome
            return [.requestInvalid, .credential].contains(rule.verdict) && !outcome.concernsWholeBatch
        }
        #expect(Set(own.map(\.reason)) == ["BadPath", "BadMessageId", "MissingDeviceToken"])
        #expect(AnswerRules.commonFaults.isSubset(of: AnswerRules.knownReasons))
    }

    @Test("the page for operators has every row with its meaning")
    func page() throws {
        let page = try String(contentsOf: Self.pageFile, encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
        #expect(rows.map(String.init) == AnswerRules.table.map(Self.pageRow))
    }

    private static let pageFile = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "docs/reference/apns-answers.md")

    private static func pageRow(_ rule: AnswerRule) -> String {
        let all = Set(APNSRequestKind.allCases)
        let scope =
            rule.kinds == all
            ? "all"
            : APNSAPI.allCases.compactMap { api -> String? in
                let kinds = rule.kinds.filter { $0.api == api }
                if kinds.isEmpty { return nil }
                if kinds.count == all.count(where: { $0.api == api }) { return api.rawValue }
                return APNSRequestKind.allCases.filter(kinds.contains).map(\.rawValue).joined(separator: ", ")
            }
            .joined(separator: ", ")
        return "| \(scope) | \(rule.status) | `\(rule.reason)` | `\(rule.verdict)` |"
    }

    @Test("no token dies of anything but a 410 on the device API with one of two reasons")
    func onlyTokenReasonsKill() {
        let deadly = AnswerRules.table.filter { $0.verdict == .tokenDead }
        #expect(Set(deadly.map(\.reason)) == ["Unregistered", "ExpiredToken"])
        for rule in deadly {
            #expect(rule.kinds == [.devicePush] && rule.status == 410)
        }
        for status in 100..<600 {
            #expect(AnswerRules.judge(.devicePush, status: status, reason: nil).verdict != .tokenDead)
            #expect(AnswerRules.judge(.devicePush, status: status, reason: "NobodyKnowsThis").verdict != .tokenDead)
        }
        for kind in APNSRequestKind.allCases where kind != .devicePush {
            for status in 100..<600 {
                let verdict = AnswerRules.judge(kind, status: status, reason: nil).verdict
                #expect(verdict != .tokenDead && verdict != .tokenRejected)
            }
        }
        for status in 100..<600 {
            let verdict = AnswerRules.judge(.devicePush, status: status, reason: "NobodyKnowsThis").verdict
            #expect(verdict != .tokenDead && verdict != .tokenRejected)
        }
    }

    @Test("nothing is given up for an answer that is not in the table", arguments: APNSRequestKind.allCases)
    func neverFinal(kind: APNSRequestKind) {
        for status in 300..<600 {
            for reason in [nil, "NobodyKnowsThis"] {
                let verdict = AnswerRules.judge(kind, status: status, reason: reason).verdict
                #expect(verdict == ([401, 403].contains(status) ? .credential : .retry))
            }
        }
    }

    @Test(
        "an unknown or missing reason is judged by its status",
        arguments: [
            (400, .retry), (401, .credential), (402, .retry), (403, .credential), (404, .retry), (407, .retry),
            (408, .retry), (410, .retry), (413, .retry), (421, .retry), (429, .retry), (500, .retry),
            (502, .retry), (503, .retry), (302, .retry), (204, .accepted),
        ] as [(Int, PushOutcome.Class)]
    )
    func unknownReason(status: Int, expected: PushOutcome.Class) {
        let answer = APNSAnswer(.devicePush, status: status, body: Array(#"{"reason":"BrandNew"}"#.utf8))
        #expect(answer.outcome.class == expected)
        #expect(answer.outcome.reason == "BrandNew")
    }

    @Test("a 410 without a reason says nothing of the token")
    func bare410() {
        let bodies = ["", "{}", "gone", #"{"reason":null}"#, #"{"timestamp":1763700000000}"#]
        for body in bodies {
            #expect(APNSAnswer(.devicePush, status: 410, body: Array(body.utf8)).outcome.class == .retry)
        }
        #expect(APNSAnswer(.broadcastPush, status: 410, body: []).outcome.class == .retry)
    }

    @Test("a known reason under a foreign status is judged by the status")
    func foreignStatus() {
        let body = Array(#"{"reason":"Unregistered"}"#.utf8)
        #expect(APNSAnswer(.devicePush, status: 503, body: body).outcome.class == .retry)
        #expect(APNSAnswer(.devicePush, status: 400, body: body).outcome.class == .retry)
    }
}
