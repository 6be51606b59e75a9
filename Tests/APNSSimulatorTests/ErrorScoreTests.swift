import Testing

@testable import APNSSimulator

@Suite("What errors cost a connection")
struct ErrorScoreTests {
    private var score = ErrorScore()
    private var limits = PenaltyLimits()

    init() {
        limits.slowDown = 10
        limits.close = 40
        limits.badDeviceToken = 5
        limits.window = 60
    }

    /// The consequences other than none of so many equal answers, with the answer's number from 1.
    private mutating func answers(
        _ count: Int,
        _ status: Int,
        _ reason: String? = nil,
        at seconds: Int64 = 0
    ) -> [Int: ErrorScore.Consequence] {
        (1...count).reduce(into: [:]) { found, number in
            let consequence = score.note(status, reason: reason, at: seconds, streams: 1000, limits: limits)
            if consequence != .none { found[number] = consequence }
        }
    }

    @Test("each ten errors halve the streams, forty end the connection")
    mutating func slower() {
        #expect(
            answers(40, 400, "BadTopic") == [10: .limit(500), 20: .limit(250), 30: .limit(125), 40: .close]
        )
    }

    @Test("a bad device token counts five times")
    mutating func badTokens() {
        #expect(answers(8, 400, "BadDeviceToken") == [2: .limit(500), 4: .limit(250), 6: .limit(125), 8: .close])
    }

    @Test("a 410 is no error, nor is a yes, nor what is Apple's own fault", arguments: [200, 410, 500, 503])
    func noErrors(_ status: Int) {
        var copy = self
        #expect(copy.answers(1000, status).isEmpty)
    }

    @Test("after a window without enough errors the streams are back")
    mutating func forgiven() {
        #expect(answers(20, 403) == [10: .limit(500), 20: .limit(250)])
        #expect(answers(5, 403, at: 60).isEmpty)
        #expect(answers(1, 200, at: 120) == [1: .limit(1000)])
        #expect(answers(10, 403, at: 121) == [10: .limit(500)])
    }

    @Test("without limits nothing happens")
    mutating func off() {
        limits.slowDown = 0
        #expect(answers(1000, 400, "BadDeviceToken").isEmpty)
    }
}
