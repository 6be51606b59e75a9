package import ActivityModel
import JSON
package import Postgres
package import Store

/// The facts that the ledger decides by, besides the change.
package struct PriorityCase: Hashable, Sendable {
    package let budgetClass: BudgetClass
    /// The revision of the alert that the push brings: the change's own, or an older one.
    package let alert: Revision?

    /// For a push to a device that allows frequent pushes, or does not.
    package init(frequent: Bool, alert: Revision?) {
        self.init(frequent ? .frequent : .ordinary, alert: alert)
    }

    package init(_ budgetClass: BudgetClass, alert: Revision?) {
        self.budgetClass = budgetClass
        self.alert = alert
    }
}

/// An earlier decision for a change and a class.
package struct GivenPriority: Sendable, Hashable {
    let priority: PushPriority
    /// Whether it was decided for the change with its alert.
    let isForAlert: Bool
    /// How long ago, in seconds.
    let age: Double

    package init(_ priority: PushPriority, isForAlert: Bool, age: Double = 0) {
        self.priority = priority
        self.isForAlert = isForAlert
        self.age = age
    }

    /// The entry of a row of the ledger; nil if there is no row.
    init?(stored priority: Int16?, _ reason: String?, age: Double?) {
        guard let priority = priority.flatMap({ PushPriority(rawValue: Int($0)) }) else { return nil }
        self.init(priority, isForAlert: reason == PriorityDecision.Reason.alertOverBudget.rawValue, age: age ?? 0)
    }

    /// The priority, if it holds for a push of the change with or without its alert. Otherwise nil: an alert may still
    /// get the priority 10 that its change did not get, and a unit that has left the window does not count any more.
    package func holding(hasAlert: Bool, under policy: Policy) -> PushPriority? {
        if isSpent(under: policy) { return nil }
        return priority == .ten || !hasAlert || isForAlert ? priority : nil
    }

    /// Whether a unit was spent on it so long ago that the window does not count it any more.
    func isSpent(under policy: Policy) -> Bool {
        priority == .ten && age >= Double(policy.budget.windowSeconds)
    }
}

/// The subject of one decision: a change with or without its own alert, or the alert of an older change that rides on
/// it.
package struct BudgetItem: Sendable {
    let revision: Revision
    let kind: ChangeKind
    let urgency: Urgency
    let hasAlert: Bool
    /// The priorities that it was given already, as far as they are known.
    let priorities: [BudgetClass: GivenPriority]

    package init(_ change: ChangeToSend, hasAlert: Bool) {
        revision = change.revision
        kind = change.kind
        urgency = change.urgency
        self.hasAlert = hasAlert
        priorities = change.priorities
    }

    init(olderAlert revision: Revision) {
        self.revision = revision
        kind = .update
        urgency = .routine
        hasAlert = true
        priorities = [:]
    }

    /// The decision if the budget has no say in it; nil if it has.
    package var decisionWithoutBudget: PriorityDecision? {
        PriorityRule.withoutBudget(kind: kind, urgency: urgency, hasAlert: hasAlert)
    }

    /// The items that decide the priority of a push, in this order, until one gives it priority 10.
    static func all(_ change: ChangeToSend, bringing alert: Revision?) -> [BudgetItem] {
        guard let alert, alert != change.revision, change.kind == .update else {
            return [BudgetItem(change, hasAlert: alert != nil)]
        }
        return [BudgetItem(olderAlert: alert), BudgetItem(change, hasAlert: false)]
    }
}

/// The rows of `budget_ledger`: which priority each revision got, and why, as far as that concerns the budget. A
/// routine change spends nothing and asks nobody, so it leaves no row (``RoutinePriority``).
///
/// A decision is made once per revision and class, so a retry or a late joiner spends nothing more (promise 10). An
/// alert that rides on a newer state was decided with its own revision: who has not heard it has not had that unit
/// either. Rings of one activity decide one after the other what the budget has a say in, so that together they spend
/// no more than there is.
package struct BudgetLedger: Sendable {
    let database: Database

    /// The priority of a push that brings a change, and perhaps an alert.
    package func priority(
        of change: ChangeToSend,
        _ push: PriorityCase,
        in activity: ActivitySnapshot
    ) async throws -> PushPriority {
        for item in BudgetItem.all(change, bringing: push.alert) {
            let priority = try await priority(of: item, push.budgetClass, in: activity)
            if priority == .ten { return .ten }
        }
        return .five
    }

    /// The same for late cards and retries. If the unit that was spent on the change has left the window, they get the
    /// change without one. It is not worth another unit of the budget that all cards share.
    package func latePriority(
        of change: ChangeToSend,
        _ push: PriorityCase,
        in activity: ActivitySnapshot
    ) async throws -> PushPriority {
        if push.alert == nil, change.kind != .end,
            change.priorities[push.budgetClass]?.isSpent(under: activity.policy) == true
        {
            return .five
        }
        return try await priority(of: change, push, in: activity)
    }

    private func priority(
        of item: BudgetItem,
        _ budgetClass: BudgetClass,
        in activity: ActivitySnapshot
    ) async throws -> PushPriority {
        if let priority = Self.priorityApart(from: item, budgetClass, in: activity) { return priority }
        let rows = try await database.query(Self.selection(item, in: activity, for: budgetClass))
        let decided = try Self.given(rows)?.holding(hasAlert: item.hasAlert, under: activity.policy)
        if let decided { return decided }
        return try await database.withTransaction { connection in
            try await decide(item, in: activity, for: budgetClass, on: connection)
        }
    }

    /// The priority of a push that leaves the budget as it is, whatever is left of it; nil for any other.
    private static func priorityApart(
        from item: BudgetItem,
        _ budgetClass: BudgetClass,
        in activity: ActivitySnapshot
    ) -> PushPriority? {
        let given = item.priorities[budgetClass]?.holding(hasAlert: item.hasAlert, under: activity.policy)
        if let given { return given }
        return item.decisionWithoutBudget.flatMap { $0.concernsBudget ? nil : $0.priority }
    }

    private func decide(
        _ item: BudgetItem,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass,
        on connection: PostgresConnection
    ) async throws -> PushPriority {
        // Read in a second statement, whose snapshot is younger than the lock.
        let results = try await connection.pipeline([
            ActivityRows.hold(activity.key),
            Self.selection(item, in: activity, for: budgetClass),
        ])
        let given = try Self.given(results[1])
        // Another ring was faster.
        if let decided = given?.holding(hasAlert: item.hasAlert, under: activity.policy) { return decided }
        let decision = try Self.decision(results[1], on: item, in: activity, for: budgetClass)
        // A revision that got priority 10 once stays on record so, even if the budget has no further unit for it.
        if given?.priority == .ten, decision.priority == .five { return .five }
        _ = try await connection.commit(
            [Self.record(decision, of: item.revision, in: activity, for: budgetClass)]
                + (decision.isDemoted ? [demotion(decision, of: item.revision, in: activity, for: budgetClass)] : [])
        )
        return decision.priority
    }

    /// The decision of the ledger, now, for a change that brings an alert of this revision. Nothing is spent.
    package static func judge(
        _ change: ChangeToSend,
        alert: Revision?,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass,
        on connection: PostgresConnection
    ) async throws -> PriorityDecision {
        let items = BudgetItem.all(change, bringing: alert)
        for item in items.dropLast() {
            let rows = try await connection.query(selection(item, in: activity, for: budgetClass))
            if try given(rows)?.holding(hasAlert: item.hasAlert, under: activity.policy) == .five { continue }
            let decision = try decision(rows, on: item, in: activity, for: budgetClass)
            if decision.priority == .ten { return decision }
        }
        let own = items[items.count - 1]
        let rows = try await connection.query(selection(own, in: activity, for: budgetClass))
        return try decision(rows, on: own, in: activity, for: budgetClass)
    }

    /// How many units were spent on other changes, and what was decided for this one.
    private static func selection(
        _ item: BudgetItem,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass
    ) -> Query {
        let window = Duration.seconds(activity.policy.budget.windowSeconds)
        return """
            SELECT (
                -- The time comes from a subquery, because no index is searched for a time that moves.
                SELECT count(*) FROM budget_ledger
                WHERE activity_key = \(activity.key) AND class = \(budgetClass.rawValue)::budget_class
                  AND priority = 10 AND revision <> \(item.revision)
                  AND decided_at > (SELECT clock_timestamp() - \(window))
            ), priority, reason, \(unescaped: age)
            FROM (VALUES (1)) AS one LEFT JOIN budget_ledger
                ON activity_key = \(activity.key) AND class = \(budgetClass.rawValue)::budget_class
               AND revision = \(item.revision)
            """
    }

    /// An SQL expression: how long ago it was decided, in seconds (``GivenPriority/age``).
    static let age = "extract(epoch FROM clock_timestamp() - decided_at)::float8"

    /// The earlier decision for the item in the rows of a ``selection(_:in:for:)``.
    private static func given(_ rows: Rows) throws -> GivenPriority? {
        let row = try rows.first(as: (Int64, Int16?, String?, Double?).self)
        guard let (_, priority, reason, age) = row else { return nil }
        return GivenPriority(stored: priority, reason, age: age)
    }

    private static func decision(
        _ rows: Rows,
        on item: BudgetItem,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass
    ) throws -> PriorityDecision {
        let (spent, _, _, _) =
            try rows.first(as: (Int64, Int16?, String?, Double?).self) ?? (Int64(0), nil, nil, nil)
        let budget = activity.policy.budget
        let total = budgetClass == .frequent ? budget.frequent : budget.ordinary
        return PriorityRule.decide(
            kind: item.kind,
            urgency: item.urgency,
            hasAlert: item.hasAlert,
            remaining: max(total - Int(spent), 0),
            reserve: budget.reserve
        )
    }

    /// The statement that records a decision, made now or at `time`. Replaces an earlier decision only if that gave
    /// priority 5, or if both gave 10 and the earlier unit has left the window. A unit counts from when it is spent
    /// (promise 10).
    package static func record(
        _ decision: PriorityDecision,
        of revision: Revision,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass,
        at time: PGTimestamp? = nil
    ) -> Query {
        """
        INSERT INTO budget_ledger AS b (activity_key, class, revision, priority, reason, explanation, decided_at)
        VALUES (\(activity.key), \(budgetClass.rawValue)::budget_class, \(revision),
                \(Int16(decision.priority.rawValue)), \(decision.reason.rawValue), \(decision.text),
                coalesce(\(time), clock_timestamp()))
        ON CONFLICT (activity_key, class, revision) DO UPDATE
        SET priority = EXCLUDED.priority, reason = EXCLUDED.reason, explanation = EXCLUDED.explanation,
            decided_at = EXCLUDED.decided_at
        WHERE b.priority < EXCLUDED.priority OR (b.priority = EXCLUDED.priority AND (
            b.priority = 5
            OR b.decided_at <= EXCLUDED.decided_at - \(Duration.seconds(activity.policy.budget.windowSeconds))
        ))
        """
    }

    private func demotion(
        _ decision: PriorityDecision,
        of revision: Revision,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass
    ) -> Query {
        EventRows.insertion([
            Event(
                .demoted,
                of: .activity(key: activity.key),
                [
                    "revision": .number(JSONNumber(revision)), "class": .string(budgetClass.rawValue),
                    "reason": .string(decision.reason.rawValue), "explanation": .string(decision.text),
                ]
            )
        ])
    }
}
