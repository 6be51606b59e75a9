import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

@Suite("Starting on a phone")
struct PhoneStartTests {
    @Test("an app gets a start token of 160 digits per type and reports it")
    func launch() throws {
        var phone = Phone(profile: Sample.profile(), limits: PhoneLimits())
        let effects = phone.launch(at: Sample.moment())
        let report = try #require(effects.devices.first)
        let token = try #require(report.startTokens[Sample.type])
        #expect(token.count == 160)
        #expect(HeaderForms.isTokenText(token))
        #expect(effects.contains(.issue(token: token, .start(type: Sample.type), expiresAt: nil)))
    }

    @Test("below iOS 17.2 there are no start tokens", arguments: [(OSVersion(17, 1), 0), (OSVersion(17, 2), 1)])
    func oldSystem(_ version: OSVersion, _ tokens: Int) {
        #expect(Phone.launched(Sample.profile(os: version)).startTokens.count == tokens)
    }

    @Test("a start shows a card, whose token comes later and is reported")
    func start() throws {
        var phone = Phone.launched()
        let effects = phone.start(Sample.startBody())
        #expect(phone.lastVerdict == .started)
        #expect(phone.cards.first?.contentState == Sample.state)
        guard case .awaitToken(card: 0, let delay) = try #require(effects.first) else {
            Issue.record("no wait for a token")
            return
        }
        #expect(PhoneLimits().tokenDelay.contains(delay))
        #expect(effects.subscriptions.isEmpty)

        let later = phone.tokenReady(card: 0, at: Sample.moment(1))
        let report = try #require(later.subscriptions.first)
        #expect(report.generation == 1)
        #expect(report.activityID == Sample.final)
        #expect(report.link == phone.cards[0].reportedLink)
    }

    @Test("a start that breaks a rule shows nothing", arguments: StartObstacle.all)
    func obstacle(_ example: StartObstacle) {
        var phone = Phone.launched(Sample.profile(os: example.os))
        if example.forceQuit { phone.forceQuit() }
        let effects = phone.start(Sample.startBody(example.change), channelExists: example.channelExists)
        #expect(phone.lastVerdict == .ignored(example.reason))
        #expect(phone.cards.isEmpty)
        #expect(effects.isEmpty)
    }

    @Test("a start on a channel subscribes and reports the channel")
    func channel() throws {
        var phone = Phone.launched()
        let effects = phone.start(
            Sample.startBody {
                $0["input-push-token"] = nil
                $0["input-push-channel"] = "c3RvcmluZzEyMzQ1Njc4OQ=="
            }
        )
        #expect(effects.first == .subscribe(channelID: "c3RvcmluZzEyMzQ1Njc4OQ==", card: 0))
        #expect(effects.subscriptions.map(\.link) == [.channel("c3RvcmluZzEyMzQ1Njc4OQ==")])
    }

    @Test("the eleventh start in an hour is ignored, and the first one after it is not")
    func startBudget() {
        var limits = PhoneLimits()
        limits.activities = 100
        var phone = Phone.launched(limits: limits)
        for number in 1...11 {
            _ = phone.start(Sample.startBody(activity: "match-\(number)"), at: Int64(number))
        }
        #expect(phone.cards.count == 10)
        #expect(phone.lastVerdict == .ignored(.startBudget))
        _ = phone.start(Sample.startBody(activity: "match-12"), at: 3601)
        #expect(phone.lastVerdict == .started)
    }

    @Test("a sixth activity at a time does not start, another card of a running one does")
    func tooManyActivities() {
        var phone = Phone.launched()
        for number in 1...6 {
            _ = phone.start(Sample.startBody(activity: "match-\(number)"))
        }
        #expect(phone.lastVerdict == .ignored(.tooManyActivities))
        _ = phone.start(Sample.startBody(activity: "match-5"))
        #expect(phone.lastVerdict == .secondCard)
    }

    @Test("a second card is on record, the older one goes, and the newest token is reported")
    func secondCard() throws {
        var phone = Phone.started()
        guard case .token(let old) = phone.cards[0].link else {
            Issue.record("no token")
            return
        }
        let effects = phone.start(Sample.startBody(at: 5), at: 5)
        #expect(phone.lastVerdict == .secondCard)
        #expect(phone.secondCards == 1)
        #expect(effects.contains(.retire(token: old, since: Sample.moment(5).milliseconds)))
        #expect(phone.cards[0].state(at: Sample.moment(5).milliseconds, limits: phone.limits) == .replaced)
        let report = try #require(phone.tokenReady(card: 1, at: Sample.moment(6)).subscriptions.first)
        #expect(report.generation == 2)
        #expect(report.activityKitID == phone.cards[1].activityKitID)
    }

    @Test("without the attribute, the activity is the only one that the phone follows", arguments: [1, 2])
    func noAttribute(_ followed: Int) {
        let follows = [Sample.final, ActivityID(stored: "semi")].prefix(followed)
        var profile = Sample.profile(follows: Array(follows))
        profile.idAttribute = "orderId"
        var phone = Phone.launched(profile)
        _ = phone.start(Sample.startBody())
        #expect(phone.cards.first?.activityID == (followed == 1 ? Sample.final : nil))
    }

    @Test("the same seed gives the same phone, another one another")
    func seeds() {
        var other = Sample.profile()
        other.seed = 8
        #expect(Phone.launched().startTokens == Phone.launched().startTokens)
        #expect(Phone.launched().startTokens != Phone.launched(other).startTokens)
    }
}

/// One thing that keeps a start from showing.
struct StartObstacle: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: IgnoreReason
    var os = OSVersion(18, 1)
    var forceQuit = false
    var channelExists = true
    var change: @Sendable (inout JSONObject) -> Void = { _ in }

    static let all: [StartObstacle] = [
        StartObstacle(testDescription: "no timestamp", reason: .malformed) { $0["timestamp"] = nil },
        StartObstacle(testDescription: "an unknown event", reason: .malformed) { $0["event"] = "begin" },
        StartObstacle(testDescription: "an update to a start token", reason: .wrongKind) { $0["event"] = "update" },
        StartObstacle(testDescription: "no alert", reason: .noAlert) { $0["alert"] = nil },
        StartObstacle(testDescription: "an alert without body", reason: .noAlert) { $0["alert"] = ["title": "x"] },
        StartObstacle(testDescription: "another type", reason: .unknownType) {
            $0["attributes-type"] = "OrderAttributes"
        },
        StartObstacle(testDescription: "no attributes", reason: .undecodableAttributes) { $0["attributes"] = nil },
        StartObstacle(testDescription: "an attribute of another type", reason: .undecodableAttributes) {
            $0["attributes"] = ["homeTeam": 1, "awayTeam": "FRA", "competition": "Final", "activityId": "final"]
        },
        StartObstacle(testDescription: "a missing field", reason: .undecodableContent) {
            $0["content-state"] = ["homeScore": 1, "awayScore": 0, "minute": 23]
        },
        StartObstacle(testDescription: "snake case", reason: .undecodableContent) {
            $0["content-state"] = ["home_score": 1, "away_score": 0, "minute": 23, "period": "x"]
        },
        StartObstacle(testDescription: "more than the phone holds", reason: .tooLarge) {
            $0["attributes"] = [
                "homeTeam": .string(String(repeating: "x", count: 4000)), "awayTeam": "FRA", "competition": "Final",
                "activityId": "final",
            ]
        },
        StartObstacle(testDescription: "both inputs", reason: .contradictoryInput) {
            $0["input-push-channel"] = "AAAA"
        },
        StartObstacle(testDescription: "a channel below iOS 18", reason: .needsNewerSystem, os: OSVersion(17, 5)) {
            $0["input-push-token"] = nil
            $0["input-push-channel"] = "AAAA"
        },
        StartObstacle(testDescription: "an unknown channel", reason: .unknownChannel, channelExists: false) {
            $0["input-push-token"] = nil
            $0["input-push-channel"] = "AAAA"
        },
        StartObstacle(testDescription: "a force-quit app", reason: .forceQuit, forceQuit: true),
    ]
}

extension Sample {
    static func startBody(_ change: @Sendable (inout JSONObject) -> Void) -> PushBody {
        startBody(activity: "final", at: 0, change)
    }
}

extension PhoneCard {
    fileprivate var reportedLink: SubscriptionReport.Link? {
        guard case .token(let token) = link else { return nil }
        return .token(token)
    }
}
