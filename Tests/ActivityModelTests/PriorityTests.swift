import ActivityModel
import TestSupport
import Testing

@Suite("Priority")
struct PriorityTests {
    @Test(
        "The contract's table",
        arguments: [
            (.start, .routine, false, 0, 2, .ten, .start), (.end, .routine, false, 0, 2, .ten, .end),
            (.end, .critical, true, -5, 2, .ten, .end),
            (.update, .routine, true, 2, 2, .ten, .alert), (.update, .routine, true, 1, 2, .five, .alertOverBudget),
            (.update, .critical, true, 0, 2, .five, .alertOverBudget),
            (.update, .critical, false, 2, 2, .ten, .critical),
            (.update, .critical, false, 1, 2, .five, .criticalOverBudget),
            (.update, .critical, false, 1, 0, .five, .criticalOverBudget),
            (.update, .notable, false, 3, 2, .ten, .notable),
            (.update, .notable, false, 2, 2, .five, .notableOverBudget),
            (.update, .notable, false, 1, 0, .ten, .notable),
            (.update, .routine, false, 10, 2, .five, .routine),
        ] as [(ChangeKind, Urgency, Bool, Int, Int, PushPriority, PriorityDecision.Reason)]
    )
    func table(
        kind: ChangeKind,
        urgency: Urgency,
        hasAlert: Bool,
        remaining: Int,
        reserve: Int,
        priority: PushPriority,
        reason: PriorityDecision.Reason
    ) {
        let decision = PriorityRule.decide(
            kind: kind,
            urgency: urgency,
            hasAlert: hasAlert,
            remaining: remaining,
            reserve: reserve
        )
        #expect(decision.priority == priority)
        #expect(decision.reason == reason)
        #expect(decision.spendsUnit == (priority == .ten))
        #expect(decision.isDemoted == (priority == .five && reason != .routine))
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
