import JSON
import TestSupport
import Testing

@testable import ActivityModel

@Suite("Bodies")
struct LiveActivityBodyTests {
    static let alert = AlertContent(
        title: .plain("Goal"),
        body: .localized(key: "SCORE", arguments: ["1", "0"]),
        sound: "default"
    )
    static let type = ActivityTypeName(stored: "GameAttributes")

    static func compact(_ text: String) throws -> CompactJSON { CompactJSON(try JSONValue(parsing: text)) }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(
        "A start has every key that Apple asks for, and at most one of the input-push keys",
        arguments: [
            (.none, ""), (.token, #","input-push-token":1"#),
            (.channel(APNSChannelID(stored: "ab+/==")), #","input-push-channel":"ab+/==""#),
        ] as [(LiveActivityBody.InputPush, String)]
    )
    func start(inputPush: LiveActivityBody.InputPush, tail: String) throws {
        let content = LiveActivityBody.Content(
            contentState: try Self.compact(#"{"homeScore": 1.0, "big": 12345678901234567890}"#),
            alert: Self.alert,
            hints: CardHints(staleAfterSeconds: 60, relevanceScore: JSONNumber(digits: "75.50"))
        )
        let body = LiveActivityBody.start(
            Self.type,
            attributes: try Self.compact(#"{"id":"m/1"}"#),
            content: content,
            timestamp: 1_700_000_000,
            inputPush: inputPush
        )
        #expect(
            Self.text(body)
                == #"{"aps":{"timestamp":1700000000,"event":"start","content-state":{"homeScore":1.0,"big":12345678901234567890},"#
                + #""attributes-type":"GameAttributes","attributes":{"id":"m/1"},"#
                + #""alert":{"title":"Goal","body":{"loc-key":"SCORE","loc-args":["1","0"]},"sound":"default"},"#
                + #""stale-date":1700000060,"relevance-score":75.50"# + tail + "}}"
        )
        #expect(throws: Never.self) { try JSONValue.parse(body) }
    }

    @Test("An update carries only what it has")
    func update() throws {
        let bare = LiveActivityBody.Content(contentState: try Self.compact(#"{"s":"ü"}"#))
        #expect(
            Self.text(LiveActivityBody.update(bare, timestamp: 1_700_000_001))
                == #"{"aps":{"timestamp":1700000001,"event":"update","content-state":{"s":"ü"}}}"#
        )
        var full = bare
        full.alert = AlertContent(title: .plain("T"), body: .plain("B"))
        full.hints = CardHints(staleAfterSeconds: 0, relevanceScore: 5)
        #expect(
            Self.text(LiveActivityBody.update(full, timestamp: 1_700_000_001))
                == #"{"aps":{"timestamp":1700000001,"event":"update","content-state":{"s":"ü"},"alert":{"title":"T","body":"B"},"stale-date":1700000001,"relevance-score":5}}"#
        )
    }

    @Test(
        "An end is dismissed as asked",
        arguments: [
            (.systemDefault, ""), (.after(seconds: 0), #","dismissal-date":1699999940"#),
            (.after(seconds: 90), #","dismissal-date":1700000090"#),
            (.after(seconds: 99_999), #","dismissal-date":1700014400"#),
            (.at(1_700_000_500), #","dismissal-date":1700000500"#),
            (.at(1_700_099_999), #","dismissal-date":1700014400"#),
            (.at(1_600_000_000), #","dismissal-date":1600000000"#),
        ] as [(Dismissal, String)]
    )
    func end(dismissal: Dismissal, tail: String) throws {
        let body = LiveActivityBody.end(
            contentState: try Self.compact(#"{"a":1}"#),
            alert: nil,
            dismissal: dismissal,
            timestamp: 1_700_000_000
        )
        #expect(
            Self.text(body) == #"{"aps":{"timestamp":1700000000,"event":"end","content-state":{"a":1}"# + tail + "}}"
        )
    }

    @Test("The caller's wish goes before the policy")
    func dismissalChoice() {
        var policy = Policy()
        #expect(Dismissal(policy: policy) == .systemDefault)
        policy.dismissAfterSeconds = 0
        #expect(Dismissal(policy: policy) == .after(seconds: 0))
        #expect(Dismissal(dismissAfterSeconds: 30, policy: policy) == .after(seconds: 30))
        #expect(Dismissal(dismissAt: 5, policy: policy) == .at(5))
    }

    // MARK: Sizes

    static func combination(_ delivery: Delivery = .tokens, attributes: Int = 100) throws -> BodySizes.Combination {
        BodySizes.Combination(type: type, attributes: try filler(attributes), delivery: delivery)
    }

    /// A JSON object of exactly that many bytes.
    static func filler(_ count: Int) throws -> CompactJSON {
        try compact("{\"x\":\"" + String(repeating: "a", count: count - 8) + "\"}")
    }

    @Test("The largest combination that can be sent is what is measured", arguments: Delivery.allCases)
    func largestCombination(delivery: Delivery) throws {
        var combination = try Self.combination(delivery)
        combination.startAlert = Self.alert
        combination.alerts = [AlertContent(title: .plain("A"), body: .plain("B")), Self.alert]
        combination.hints.relevanceScore = 100
        let state = try Self.filler(500)
        let channel = APNSChannelID(stored: "dHN0LXNyY2gtY2hubA==")
        let sizes = BodySizes(contentState: state, in: combination, channel: channel)

        var deviceSizes: [Int] = []
        var changeSizes: [Int] = []
        for stamp in [1_700_000_000, 1_999_999_999] as [Timestamp] {
            for alert in [nil] + combination.alerts.map(Optional.some) {
                for stale in [nil, 28_800] {
                    for score in [nil, 100] as [JSONNumber?] {
                        let content = LiveActivityBody.Content(
                            contentState: state,
                            alert: alert,
                            hints: CardHints(staleAfterSeconds: stale, relevanceScore: score)
                        )
                        changeSizes.append(LiveActivityBody.update(content, timestamp: stamp).count)
                        var started = content
                        started.alert = Self.alert
                        for inputPush in [.none, delivery.usesChannel ? .channel(channel) : .token]
                            as [LiveActivityBody.InputPush]
                        {
                            deviceSizes.append(
                                LiveActivityBody.start(
                                    Self.type,
                                    attributes: combination.attributes,
                                    content: started,
                                    timestamp: stamp,
                                    inputPush: inputPush
                                ).count
                            )
                        }
                    }
                }
                for dismissal in [.systemDefault, .after(seconds: 0), .after(seconds: 500), .at(1_800_000_000)]
                    as [Dismissal]
                {
                    changeSizes.append(
                        LiveActivityBody.end(contentState: state, alert: alert, dismissal: dismissal, timestamp: stamp)
                            .count
                    )
                }
            }
        }
        if delivery != .channel { deviceSizes += changeSizes }
        #expect(sizes.device == deviceSizes.max())
        #expect(sizes.broadcast == (delivery == .tokens ? 0 : changeSizes.max()))
        #expect(sizes.stored == 600)
        #expect(sizes.excess == nil)
    }

    @Test("Where nobody is started by push, a change alone is measured for those that get it")
    func withoutStart() throws {
        let state = try Self.filler(500)
        let content = LiveActivityBody.Content(contentState: state, hints: CardHints(staleAfterSeconds: 0))
        let update = LiveActivityBody.update(content, timestamp: 1_700_000_000).count
        let end = LiveActivityBody.end(
            contentState: state,
            alert: nil,
            dismissal: .after(seconds: 1),
            timestamp: 1_700_000_000
        )
        let change = max(update, end.count)
        for (delivery, device, broadcast) in [(.tokens, change, 0), (.hybrid, change, change), (.channel, 0, change)]
            as [(Delivery, Int, Int)]
        {
            let sizes = BodySizes(contentState: state, in: try Self.combination(delivery))
            #expect(sizes.device == device)
            #expect(sizes.broadcast == broadcast)
        }
    }

    @Test("Each limit holds to the byte")
    func limits() throws {
        #expect(SizeLimit.device.excess(4096) == nil)
        #expect(SizeLimit.device.excess(4097) == SizeExcess(limit: .device, bytes: 4097))
        #expect(SizeLimit.broadcast.excess(5120) == nil)
        #expect(SizeLimit.broadcast.excess(5121)?.limit == .broadcast)
        #expect(SizeLimit.stored.excess(4097)?.limit == .stored)

        let stored = { (state: Int) in
            BodySizes(contentState: try Self.filler(state), in: try Self.combination(.channel, attributes: 1_000))
        }
        #expect(try stored(3_096).excess == nil)
        #expect(try stored(3_097).excess == SizeExcess(limit: .stored, bytes: 4_097))

        let probe =
            BodySizes(contentState: try Self.filler(1_000), in: try Self.combination(attributes: 10)).device - 1_000
        let device = { (state: Int) in
            BodySizes(contentState: try Self.filler(state), in: try Self.combination(attributes: 10))
        }
        #expect(try device(4_096 - probe).excess == nil)
        #expect(try device(4_097 - probe).excess == SizeExcess(limit: .device, bytes: 4_097))
    }

    /// What is not rendered because it cannot break a limit must not be able to.
    @Test("The bound is above every size, whatever the texts", arguments: 0..<200)
    func bound(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        var combination = try Self.combination(
            Delivery.allCases.randomElement(using: &random) ?? .tokens,
            attributes: .random(in: 8...3_000, using: &random)
        )
        combination.type = ActivityTypeName(stored: Self.text(upTo: 60, &random))
        combination.startAlert = Bool.random(using: &random) ? nil : Self.alert(&random)
        combination.alerts = (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.alert(&random) }
        combination.isEnd = Bool.random(using: &random)
        combination.hints.relevanceScore = JSONNumber(Double.random(in: -1e300...1e300, using: &random))
        let state = try Self.filler(.random(in: 8...3_000, using: &random))
        let sizes = BodySizes(contentState: state, in: combination)
        let bound = BodySizes.bound(state, combination)
        #expect(bound > max(sizes.device, sizes.broadcast, sizes.stored))
        #expect(BodySizes.excess(of: state, in: combination) == sizes.excess)
    }

    private static func alert(_ random: inout SeededRandom) -> AlertContent {
        let sound = Bool.random(using: &random) ? nil : text(upTo: 20, &random)
        return AlertContent(title: line(&random), body: line(&random), sound: sound)
    }

    private static func line(_ random: inout SeededRandom) -> AlertText {
        guard Bool.random(using: &random) else { return .plain(text(upTo: 200, &random)) }
        let arguments = (0..<Int.random(in: 0...5, using: &random)).map { _ in text(upTo: 20, &random) }
        return .localized(key: text(upTo: 20, &random), arguments: arguments)
    }

    /// With characters that take six bytes in JSON, and such as take several anywhere.
    private static func text(upTo count: Int, _ random: inout SeededRandom) -> String {
        let characters = "a\u{1}\"\\/é⚽️"
        let length = Int.random(in: 0...count, using: &random)
        return String((0..<length).map { _ in characters.randomElement(using: &random) ?? "a" })
    }

    @Test("An alert that waits makes a state too large that alone would fit")
    func pendingAlert() throws {
        var combination = try Self.combination(attributes: 10)
        let state = try Self.filler(3_900)
        #expect(BodySizes(contentState: state, in: combination).excess == nil)
        combination.alerts = [AlertContent(title: .plain(String(repeating: "T", count: 150)), body: .plain("B"))]
        #expect(BodySizes(contentState: state, in: combination).excess?.limit == .device)
    }

    @Test("A last state is measured in the end alone")
    func lastState() throws {
        var combination = try Self.combination(attributes: 1_000)
        combination.startAlert = Self.alert
        let state = try Self.filler(3_000)
        #expect(BodySizes(contentState: state, in: combination).excess?.limit == .device)
        combination.isEnd = true
        #expect(BodySizes(contentState: state, in: combination).excess == nil)
    }

    @Test("A state too large for the start of a phone that joins is found")
    func lateJoiner() throws {
        var combination = try Self.combination(.channel, attributes: 1_000)
        let state = try Self.filler(3_000)
        #expect(BodySizes(contentState: state, in: combination).excess == nil)
        combination.startAlert = Self.alert
        #expect(BodySizes(contentState: state, in: combination).excess?.limit == .device)
    }
}
