import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

@Suite("Updates and ends on a phone")
struct PhoneUpdateTests {
    @Test("only a newer timestamp is shown", arguments: secondAfterTen)
    func timestamps(_ seconds: Int64, _ verdict: PushVerdict) {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10))
        _ = phone.change(Sample.updateBody(at: seconds) { $0["content-state"] = Self.later })
        #expect(phone.lastVerdict == verdict)
        #expect(phone.cards[0].contentState == (verdict == .shown ? Self.later : Sample.state))
    }

    static let later: JSONValue = ["homeScore": 2, "awayScore": 0, "minute": 36, "period": "first_half"]

    @Test("milliseconds in the timestamp look like the far future")
    func milliseconds() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 0) { $0["timestamp"] = .number(JSONNumber(Sample.start * 1000)) })
        #expect(phone.lastVerdict == .ignored(.farFuture))
        _ = phone.change(Sample.updateBody(at: 0) { $0["timestamp"] = .number(JSONNumber(Int64.max)) })
        #expect(phone.lastVerdict == .ignored(.farFuture))
    }

    @Test(
        "content that does not decode is ignored silently",
        arguments: [
            #"{"homeScore":"1","awayScore":0,"minute":23,"period":"x"}"#,
            #"{"homeScore":1.5,"awayScore":0,"minute":23,"period":"x"}"#,
            #"{"homeScore":1,"awayScore":0,"minute":null,"period":"x"}"#, #"{}"#, #"[]"#,
        ]
    )
    func undecodable(_ text: String) throws {
        var phone = Phone.started()
        let state = try JSONValue(parsing: text)
        _ = phone.change(Sample.updateBody(at: 10) { $0["content-state"] = state })
        #expect(phone.lastVerdict == .ignored(.undecodableContent))
        #expect(phone.received.last?.detail != nil)
        #expect(phone.cards[0].contentState == Sample.state)
    }

    @Test(
        "content that iOS decodes is shown",
        arguments: [
            #"{"homeScore":1.0,"awayScore":0,"minute":23,"period":"x","unknown":[1]}"#,
            #"{"homeScore":1,"awayScore":0,"minute":23,"period":"x","lastEvent":null,"homePenalties":4}"#,
        ]
    )
    func decodable(_ text: String) throws {
        var phone = Phone.started()
        let state = try JSONValue(parsing: text)
        _ = phone.change(Sample.updateBody(at: 10) { $0["content-state"] = state })
        #expect(phone.lastVerdict == .shown)
    }

    @Test("an end without a date stays 4 hours, one in the past goes at once, none stays longer")
    func dismissal() {
        let cases: [(Int64?, Int64)] = [(nil, 2 + 4 * 3600), (1, 2), (60, 60), (10 * 3600, 2 + 4 * 3600)]
        for (date, gone) in cases {
            var phone = Phone.started()
            guard case .token(let token) = phone.cards[0].link else { continue }
            let effects = phone.change(
                Sample.updateBody(at: 10, event: "end") {
                    $0["dismissal-date"] = date.map { .number(JSONNumber(Sample.start + $0)) }
                }
            )
            #expect(phone.lastVerdict == .ended)
            #expect(effects == [.retire(token: token, since: Sample.moment(gone).milliseconds)])
            #expect(phone.state(at: gone) == .dismissed)
            #expect(phone.state(at: gone - 1) == .ended)
        }
    }

    @Test("after the end nothing is shown")
    func afterEnd() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10, event: "end"))
        _ = phone.change(Sample.updateBody(at: 11))
        #expect(phone.lastVerdict == .ignored(.afterEnd))
        _ = phone.change(Sample.updateBody(at: 12, event: "end"))
        #expect(phone.lastVerdict == .ignored(.afterEnd))
    }

    @Test("an end with an old timestamp ends, with the newer content left")
    func oldEnd() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10))
        _ = phone.change(Sample.updateBody(at: 5, event: "end") { $0["content-state"] = Self.later })
        #expect(phone.lastVerdict == .ended)
        #expect(phone.cards[0].contentState == Sample.state)
    }

    @Test("an end may leave the content out")
    func endWithoutContent() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10, event: "end") { $0["content-state"] = nil })
        #expect(phone.lastVerdict == .ended)
        #expect(phone.cards[0].contentState == Sample.state)
    }

    @Test("after 8 hours the system ends the card, and after 12 it is gone")
    func lifetime() {
        var phone = Phone.started()
        #expect(phone.state(at: 8 * 3600 - 1) == .active)
        #expect(phone.state(at: 8 * 3600) == .ended)
        #expect(phone.state(at: 12 * 3600) == .dismissed)
        _ = phone.change(Sample.updateBody(at: 8 * 3600), at: 8 * 3600)
        #expect(phone.lastVerdict == .ignored(.afterEnd))
    }

    @Test("content is stale from its stale date on, until new content comes")
    func stale() {
        var phone = Phone.started()
        _ = phone.change(Sample.updateBody(at: 10) { $0["stale-date"] = .number(JSONNumber(Sample.start + 60)) })
        #expect(phone.state(at: 59) == .active)
        #expect(phone.state(at: 60) == .stale)
        _ = phone.change(Sample.updateBody(at: 11), at: 61)
        #expect(phone.state(at: 62) == .active)
    }

    @Test("a start to an update token is ignored")
    func wrongKind() {
        var phone = Phone.started()
        _ = phone.change(Sample.startBody(at: 10))
        #expect(phone.lastVerdict == .ignored(.wrongKind))
    }

    @Test("a rotated token is dead at once, and the new one is reported with the next generation")
    func rotation() throws {
        var phone = Phone.started()
        guard case .token(let old) = phone.cards[0].link else {
            Issue.record("no token")
            return
        }
        let effects = phone.rotateUpdateTokens(ofActivity: nil, at: Sample.moment(9))
        #expect(effects.first == .retire(token: old, since: Sample.moment(9).milliseconds))
        let report = try #require(effects.subscriptions.first)
        #expect(report.generation == 2)
        #expect(report.link != .token(old))
    }

    @Test("an app that joins by itself has its token at once", arguments: [nil, "AAAA"])
    func join(_ channel: String?) {
        var phone = Phone.launched(Sample.profile(follows: []))
        let effects = phone.join(
            activityID: Sample.final,
            type: Sample.type,
            channelID: channel,
            contentState: nil,
            knownRevision: nil,
            at: Sample.moment(3)
        )
        #expect(effects.subscriptions.count == 1)
        #expect(phone.profile.follows == [Sample.final])
        #expect(phone.cards[0].startedByPush == false)
        if let channel {
            #expect(effects.first == .subscribe(channelID: channel, card: 0))
        }
    }

    @Test("a force-quit app reports nothing until it runs again, and then everything")
    func forceQuit() {
        var phone = Phone.launched()
        _ = phone.start(Sample.startBody())
        phone.forceQuit()
        #expect(phone.tokenReady(card: 0, at: Sample.moment(1)).subscriptions.isEmpty)
        let effects = phone.launch(at: Sample.moment(2))
        #expect(effects.devices.count == 1)
        #expect(effects.subscriptions.count == 1)
    }

    @Test("a card swiped away is reported as ended")
    func swipeAway() {
        var phone = Phone.started()
        let effects = phone.swipeAway(activityID: Sample.final, at: Sample.moment(9))
        #expect(effects.subscriptions.map(\.link) == [.ended])
        #expect(phone.state(at: 9) == .dismissed)
    }
}

extension Phone {
    /// The state of the first card so many seconds after the start.
    fileprivate func state(at seconds: Int64) -> PhoneCardState {
        cards[0].state(at: Sample.moment(seconds).milliseconds, limits: limits)
    }
}

/// The timestamp of a second update, in seconds from the start, after one of 10; and what becomes of it.
private let secondAfterTen: [(Int64, PushVerdict)] = [
    (11, .shown),
    (10, .ignored(.sameTimestamp)),
    (9, .ignored(.olderTimestamp)),
    (8 * 3600 + 2, .shown),
    (8 * 3600 + 3, .ignored(.farFuture)),
]

@Suite("The budget of priority 10 on a phone")
struct PriorityBudgetTests {
    /// The verdicts of so many updates, one a second.
    private func verdicts(_ count: Int, priority: Int, frequent: Bool) -> (Phone, [PushVerdict]) {
        var profile = Sample.profile()
        profile.frequentPushesEnabled = frequent
        var limits = PhoneLimits()
        limits.highPriorityBudget = 3
        limits.frequentHighPriorityBudget = 5
        var phone = Phone.launched(profile, limits: limits)
        _ = phone.start(Sample.startBody())
        _ = phone.tokenReady(card: 0, at: Sample.moment(1))
        for second in 1...Int64(count) { phone.update(at: 1 + second, priority: priority) }
        return (phone, phone.received.dropFirst().map(\.verdict))
    }

    @Test("over the budget of the hour the device throttles", arguments: [(false, 3), (true, 5)])
    func over(_ frequent: Bool, _ budget: Int) {
        var (phone, seen) = verdicts(7, priority: 10, frequent: frequent)
        let shown = Array(repeating: PushVerdict.shown, count: budget)
        #expect(seen == shown + Array(repeating: .ignored(.highPriorityBudget), count: 7 - budget))
        phone.update(at: 20, priority: 5)
        #expect(phone.lastVerdict == .shown)
        phone.update(at: 3602 + 2, priority: 10)
        #expect(phone.lastVerdict == .shown)
    }

    @Test("priority 5 costs nothing")
    func free() {
        #expect(verdicts(50, priority: 5, frequent: false).1 == Array(repeating: .shown, count: 50))
    }
}

extension Phone {
    fileprivate mutating func update(at seconds: Int64, priority: Int) {
        let body = Sample.updateBody(at: seconds)
        let push = ArrivingPush(sequence: 1, body: body, priority: priority, destination: .token(card: 0))
        _ = receive(push, at: Sample.moment(seconds))
    }
}
