/// The priority of a push and its reason. Tally records each demotion with the reason (promise 10).
package struct PriorityDecision: Sendable, Hashable {
    /// The reason for the priority of a push.
    package enum Reason: String, Sendable, Hashable, CaseIterable {
        /// A start is always urgent.
        case start
        /// The end passes every budget.
        case end
        /// An alert that the budget allows.
        case alert
        /// A critical change that the budget allows.
        case critical
        /// A notable change that the budget allows without touching the reserve.
        case notable
        /// A routine change without an alert.
        case routine
        /// An alert that was demoted: the last unit is reserved for the end.
        case alertOverBudget = "alert_over_budget"
        /// A critical change that was demoted: the last unit is reserved for the end.
        case criticalOverBudget = "critical_over_budget"
        /// A notable change that was demoted: only the reserve is left.
        case notableOverBudget = "notable_over_budget"
    }

    /// The `apns-priority`.
    package let priority: PushPriority
    /// The reason as a code.
    package let reason: Reason
    /// The reason as a sentence with the figures.
    package let text: String

    /// Whether it spends a unit of the budget; every push of priority 10 does.
    package var spendsUnit: Bool { priority == .ten }

    /// Whether the budget influenced the decision or is reduced by it. All other decisions follow from the rule alone.
    package var concernsBudget: Bool { spendsUnit || isDemoted }

    /// Whether the budget demoted it from priority 10 to 5.
    package var isDemoted: Bool {
        switch reason {
        case .alertOverBudget, .criticalOverBudget, .notableOverBudget: true
        case .start, .end, .alert, .critical, .notable, .routine: false
        }
    }
}

/// Chooses the priority of every push. Whoever makes a push asks it. If the budget decides, the ledger asks it.
package enum PriorityRule {
    /// The decision for every start.
    package static let start = PriorityDecision(
        priority: .ten,
        reason: .start,
        text: "A start goes out with priority 10."
    )

    /// The end passes every budget.
    package static let end = PriorityDecision(priority: .ten, reason: .end, text: "An end passes every budget.")

    /// An ordinary push that only wakes an app. APNs takes no other priority for it.
    package static let wake = PushPriority.five

    /// The ordinary alert that replaces a start.
    package static let fallbackAlert = start.priority

    /// The decision for a routine change without an alert.
    package static let routine = PriorityDecision(
        priority: .five,
        reason: .routine,
        text: "A routine change goes out with priority 5."
    )

    /// Decides for one push to one class of destinations.
    ///
    /// `remaining`: units of priority 10 left in the window before this push; negative counts as 0. `reserve`: units
    /// that notable changes must leave.
    package static func decide(
        kind: ChangeKind,
        urgency: Urgency,
        hasAlert: Bool,
        remaining: Int,
        reserve: Int
    ) -> PriorityDecision {
        if let decision = withoutBudget(kind: kind, urgency: urgency, hasAlert: hasAlert) { return decision }
        if hasAlert { return urgent("An alert", .alert, .alertOverBudget, remaining) }
        if urgency == .critical { return urgent("A critical change", .critical, .criticalOverBudget, remaining) }
        guard remaining > reserve else {
            let text =
                "A notable change goes out with priority 5: \(units(remaining)) left, and \(reserve) are the reserve."
            return PriorityDecision(priority: .five, reason: .notableOverBudget, text: text)
        }
        let text = "A notable change, \(units(remaining)) left, more than the reserve of \(reserve)."
        return PriorityDecision(priority: .ten, reason: .notable, text: text)
    }

    /// Decides for a push that does not depend on the budget; `nil` for any other.
    package static func withoutBudget(kind: ChangeKind, urgency: Urgency, hasAlert: Bool) -> PriorityDecision? {
        switch kind {
        case .start: start
        case .end: end
        case .update where urgency == .routine && !hasAlert: routine
        case .update: nil
        }
    }

    /// The priority of a change that is sent again to those who are late. Most have it already, or it is not worth
    /// another unit, so it spends none of their budget (promise 10). The end passes every budget.
    package static func repeated(_ kind: ChangeKind) -> PushPriority {
        kind == .end ? end.priority : routine.priority
    }

    /// Alerts and critical changes may use the whole reserve except its last unit, which is for the end.
    private static func urgent(
        _ what: String,
        _ reason: PriorityDecision.Reason,
        _ demoted: PriorityDecision.Reason,
        _ remaining: Int
    ) -> PriorityDecision {
        guard remaining > 1 else {
            let text = "\(what) goes out with priority 5: \(units(remaining)) left, and the last is kept for the end."
            return PriorityDecision(priority: .five, reason: demoted, text: text)
        }
        return PriorityDecision(priority: .ten, reason: reason, text: "\(what), \(units(remaining)) left.")
    }

    private static func units(_ count: Int) -> String {
        switch max(0, count) {
        case 0: "no unit is"
        case 1: "1 unit is"
        default: "\(count) units are"
        }
    }
}
