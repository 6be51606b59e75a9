import APITypes
import ActivityModel
import Testing

@testable import Record

@Suite("The words of entries")
struct EntryWordsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let text: String
        let entry: TimelineEntry

        init(_ kind: String, _ text: String, _ change: (inout TimelineEntry) -> Void) {
            self.text = text
            var entry = TimelineEntry(at: Instant(unixSeconds: 0), kind: kind)
            change(&entry)
            self.entry = entry
        }

        var testDescription: String { text }
    }

    private static func push(_ outcome: String, _ status: Int?, _ reason: String?) -> (inout TimelineEntry) -> Void {
        {
            $0.event = "update"
            $0.revision = 3
            $0.outcome = outcome
            $0.status = status
            $0.reason = reason
        }
    }

    static let pushes = [
        Case("push", "The update with revision 3 was accepted by APNs.", push("accepted", 200, nil)),
        Case(
            "push",
            "The update with revision 3 was refused by APNs: the token is no longer active, 410 ExpiredToken.",
            push("token_dead", 410, "ExpiredToken")
        ),
        Case(
            "push",
            "The update with revision 3 was refused by APNs for now: 429 TooManyRequests.",
            push("retry", 429, "TooManyRequests")
        ),
        Case(
            "push",
            "The update with revision 3 left, and no answer came: the connection was lost.",
            push("unknown", nil, "the connection was lost")
        ),
        Case("push", "The update with revision 3 did not leave: no reason is known.", push("not_sent", nil, nil)),
        Case("push", "The broadcast of the end with revision 9 was accepted by APNs (priority 10, 120 ms).") {
            $0.event = "end"
            $0.revision = 9
            $0.segment = -1
            $0.outcome = "accepted"
            $0.priority = 10
            $0.latencyMilliseconds = 120.4
        },
        Case("push", "The ordinary alert instead of a card was accepted by APNs.") {
            $0.event = "alert"
            $0.revision = 1
            $0.outcome = "accepted"
        },
        Case("push", "The end of the card that a new one continues was accepted by APNs (priority 10).") {
            $0.event = "continued"
            $0.outcome = "accepted"
            $0.priority = 10
        },
        Case("push", "The wake-up of the app was accepted by APNs (priority 5).") {
            $0.event = "wake"
            $0.outcome = "accepted"
            $0.priority = 5
        },
        Case("batch", "The update with revision 3 went to 1,000 phones: 993 × 200, 7 × 410 Unregistered (priority 5).")
        {
            $0.event = "update"
            $0.revision = 3
            $0.priority = 5
            $0.counts = ["410 Unregistered": 7, "200": 993]
        },
    ]

    static let others = [
        Case("accepted", "Revision 4 was accepted: end, critical, with an alert, must be delivered.") {
            $0.event = "end"
            $0.revision = 4
            $0.urgency = .critical
            $0.hasAlert = true
            $0.mustDeliver = true
        },
        Case(
            "priority",
            "Revision 4 leaves at priority 5 on the channel: it is notable, but only the reserve was left of the budget."
        ) {
            $0.revision = 4
            $0.priority = 5
            $0.budgetClass = "channel"
            $0.reason = "notable_over_budget"
        },
        Case("lost", "1,300 entries are missing here: there was more to tell than could be written.") {
            $0.counts = ["rows": 1_300]
        },
        Case("refused", "An end was refused: 409 activity_ended. Nothing changed, and nothing was sent.") {
            $0.event = "end"
            $0.status = 409
            $0.reason = "activity_ended"
        },
        Case("schedule_failed", "An update that was due was refused: activity_ended.") {
            $0.event = "update"
            $0.reason = "activity_ended"
        },
        Case("registered", "The phone reported that its card listens to the channel.") { $0.event = "channel" },
        Case("shown", "The phone confirmed revision 4: its card showed it 1250 ms after its accept at the latest.") {
            $0.revision = 4
            $0.delayMilliseconds = 1_250
        },
        Case("something_new", "something new.") { _ in },
    ]

    @Test("Each kind of entry is a sentence", arguments: pushes + others)
    func words(example: Case) {
        #expect(EntryWords.text(of: example.entry) == example.text)
    }
}
