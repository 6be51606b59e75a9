import ActivityModel
import TestSupport
import Testing

@Suite("Priority")
struct PriorityTests {
    struct Case: Sendable {
        let kind: ChangeKind
        let urgency: Urgency
        let hasAlert: Bool
        let remaining: Int
        let reserve: Int
        let priority: PushPriority
        let reason: PriorityDecision.Reason

        init(
            _ kind: ChangeKind,
            _ urgency: Urgency,
            alert hasAlert: Bool = false,
            remaining: Int,
            reserve: Int = 2,
            _ priority: PushPriority,
            _ reason: PriorityDecision.Reason
        ) {
            self.kind = kind
            self.urgency = urgency
            self.hasAlert = hasAlert
            self.remaining = remaining
            self.reserve = reserve
            self.priority = priority
            self.reason = reason
        }
    }

    @Test(
        "The contract's table",
        arguments: [
            Case(.start, .routine, remaining: 0, .ten, .start),
            Case(.end, .routine, remaining: 0, .ten, .end),
            Case(.end, .critical, alert: true, remaining: -5, .ten, .end),
            Case(.update, .routine, alert: true, remaining: 2, .ten, .alert),
            Case(.update, .routine, alert: true, remaining: 1, .five, .alertOverBudget),
            Case(.update, .critical, alert: true, remaining: 0, .five, .alertOverBudget),
            Case(.update, .critical, remaining: 2, .ten, .critical),
            Case(.update, .critical, remaining: 1, .five, .criticalOverBudget),
            Case(.update, .critical, remaining: 1, reserve: 0, .five, .criticalOverBudget),
            Case(.update, .notable, remaining: 3, .ten, .notable),
            Case(.update, .notable, remaining: 2, .five, .notableOverBudget),
            Case(.update, .notable, remaining: 1, reserve: 0, .ten, .notable),
            Case(.update, .routine, remaining: 10, .five, .routine),
        ]
    )
    func table(_ expected: Case) {
        let decision = PriorityRule.decide(
            kind: expected.kind,
            urgency: expected.urgency,
            hasAlert: expected.hasAlert,
            remaining: expected.remaining,
            reserve: expected.reserve
        )
        #expect(decision.priority == expected.priority)
        #expect(decision.reason == expected.reason)
        #expect(decision.spendsUnit == (expected.priority == .ten))
        #expect(decision.isDemoted == (expected.priority == .five && expected.reason != .routine))
        #expect(decision.text.hasSuffix("."))
    }

    @Test("Whatever comes, updates leave the last unit to the end, and notable ones the reserve")
    func reserveHolds() {
        var generator = SeededRandom(seed: 0xB0D6E7)
        for _ in 0..<2_000 {
            let budget = Int.random(in: 1...20, using: &generator)
            let reserve = Int.random(in: 0...5, using: &generator)
            var remaining = budget
            for _ in 0..<60 {
                let urgency = Urgency.allCases[Int.random(in: 0..<3, using: &generator)]
                let hasAlert = Int.random(in: 0..<4, using: &generator) == 0
                let decision = PriorityRule.decide(
                    kind: .update,
                    urgency: urgency,
                    hasAlert: hasAlert,
                    remaining: remaining,
                    reserve: reserve
                )
                if decision.spendsUnit {
                    remaining -= 1
                    #expect(remaining >= (decision.reason == .notable ? reserve : 1))
                }
                #expect(!(urgency == .routine && !hasAlert && decision.spendsUnit))
            }
            #expect(remaining >= min(1, budget) || reserve == 0)
            #expect(
                PriorityRule.decide(
                    kind: .end,
                    urgency: .routine,
                    hasAlert: false,
                    remaining: remaining,
                    reserve: reserve
                ).priority == .ten
            )
        }
    }
}
