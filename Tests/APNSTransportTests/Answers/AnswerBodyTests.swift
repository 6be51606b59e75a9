import APNSTransport
import Testing

@Suite("Bodies of Apple's answers")
struct AnswerBodyTests {
    @Test("the timestamp of a 410 is in milliseconds and comes through")
    func timestamp() {
        let body = Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)
        let outcome = APNSAnswer(.devicePush, status: 410, body: body, apnsID: "A1").outcome
        #expect(outcome.class == .tokenDead(at: 1_700_000_000_123))
        #expect(outcome.apnsID == "A1")
        #expect(outcome.description == "token_dead (410 Unregistered)")
    }

    @Test(
        "a timestamp in other clothes is read or left out",
        arguments: [
            (#""1700000000123""#, 1_700_000_000_123), ("1.700000000123e12", 1_700_000_000_123), ("null", nil),
            ("1.5", nil),
            ("true", nil), (#""soon""#, nil), ("0", 0), ("-1", nil), ("253402300799999", 253_402_300_799_999),
            // Beyond what the database can compute with.
            ("253402300800000", nil), ("9223372036854775807", nil), ("-9223372036854775808", nil),
            (#""9223372036854775807""#, nil), ("1e300", nil),
        ] as [(String, Int64?)]
    )
    func oddTimestamp(text: String, expected: Int64?) {
        let body = Array(#"{"timestamp":\#(text),"reason":"ExpiredToken"}"#.utf8)
        #expect(APNSAnswer(.devicePush, status: 410, body: body).outcome.class == .tokenDead(at: expected))
    }

    @Test(
        "a body that cannot be read is one without a reason",
        arguments: [
            "", "{", "<html>", "[]", "null", #"{"reason":7}"#, #"{"reason":""}"#, #"{"Reason":"BadDeviceToken"}"#,
        ]
    )
    func unreadable(text: String) {
        let outcome = APNSAnswer(.devicePush, status: 400, body: Array(text.utf8)).outcome
        #expect(outcome.reason == nil)
        #expect(outcome.class == .retry)
    }

    @Test("a very long reason is shortened")
    func longReason() {
        let body = Array(#"{"reason":"\#(String(repeating: "x", count: 5000))"}"#.utf8)
        #expect(APNSAnswer(.devicePush, status: 400, body: body).outcome.reason?.count == 128)
    }

    @Test("counts of a batch tell rejections from deaths and answers from silence")
    func counts() {
        let outcome = BatchOutcome(
            accepted: 5,
            exceptions: [
                .init(index: 0, outcome: PushOutcome(.tokenRejected, status: 400)),
                .init(index: 1, outcome: PushOutcome(.tokenDead(at: 1), status: 410)),
                .init(index: 2, outcome: PushOutcome(.unknown)),
                .init(index: 3, outcome: PushOutcome(.tokenRejected, status: 400)),
            ]
        )
        #expect(outcome.count == 9)
        #expect(outcome.rejected == 2)
        #expect(outcome.answered == 8)
    }
}
