import ActivityModel
import JSON
import Postgres

/// Which phones share a priority-10 budget: all of a class get the same pushes.
enum BudgetClass: String, Sendable, Hashable {
    case ordinary, frequent, channel
}

/// What the ledger decides by, apart from the change.
struct PriorityCase: Hashable, Sendable {
    let budgetClass: BudgetClass
    let hasAlert: Bool

    /// For a push to a device that allows frequent pushes, or does not.
    init(frequent: Bool, hasAlert: Bool) {
        self.init(frequent ? .frequent : .ordinary, hasAlert: hasAlert)
    }

    init(_ budgetClass: BudgetClass, hasAlert: Bool) {
        self.budgetClass = budgetClass
        self.hasAlert = hasAlert
    }
}

/// What was decided for a change and a class before.
struct GivenPriority: Sendable, Hashable {
    let priority: PushPriority
    /// Whether it was decided for the change with an alert.
    let isForAlert: Bool

    init(_ priority: PushPriority, isForAlert: Bool) {
        self.priority = priority
        self.isForAlert = isForAlert
    }

    /// As a row of the ledger says; nil if there is none.
    init?(stored priority: Int16?, _ reason: String?) {
        guard let priority = priority.flatMap({ PushPriority(rawValue: Int($0)) }) else { return nil }
        self.init(priority, isForAlert: reason == PriorityDecision.Reason.alertOverBudget.rawValue)
    }

    /// Its priority, if it holds for this push: an alert may still be given what its change was not.
    func holding(for push: PriorityCase) -> PushPriority? {
        priority == .ten || !push.hasAlert || isForAlert ? priority : nil
    }
}

/// The rows of `budget_ledger`: which priority each revision got, and why, as far as that concerns the budget. A routine
/// change spends nothing and asks nobody, so it leaves no row (``RoutinePriority``).
///
/// A decision is made once per revision and class, so a retry or a late joiner spends nothing more (promise 10). Rings of one
/// activity decide one after the other what the budget has a say in, so that together they spend no more than there is.
struct BudgetLedger: Sendable {
    let database: Database

    func priority(
        of change: ChangeToSend,
        _ push: PriorityCase,
        in activity: ActivitySnapshot
    ) async throws -> PushPriority {
        if let priority = Self.priorityApart(from: change, push) { return priority }
        let query = Self.selection(change, in: activity, for: push.budgetClass)
        let decided = try await Self.decided(database.query(query), on: push)
        if let decided { return decided }
        return try await database.withTransaction { connection in
            try await decide(change, push, in: activity, on: connection)
        }
    }

    /// The priority of a push that leaves the budget as it is, whatever is left of it; nil for any other.
    private static func priorityApart(from change: ChangeToSend, _ push: PriorityCase) -> PushPriority? {
        if let decided = change.priorities[push.budgetClass]?.holding(for: push) { return decided }
        let decision = PriorityRule.withoutBudget(kind: change.kind, urgency: change.urgency, hasAlert: push.hasAlert)
        return decision.flatMap { $0.concernsBudget ? nil : $0.priority }
    }

    private func decide(
        _ change: ChangeToSend,
        _ push: PriorityCase,
        in activity: ActivitySnapshot,
        on connection: PostgresConnection
    ) async throws -> PushPriority {
        let budgetClass = push.budgetClass
        // Read in a second statement, whose snapshot is younger than the lock.
        let results = try await connection.pipeline([
            "SELECT FROM activities WHERE activity_key = \(activity.key) FOR NO KEY UPDATE",
            Self.selection(change, in: activity, for: budgetClass),
        ])
        // Another ring was faster.
        if let decided = try Self.decided(results[1], on: push) { return decided }
        let decision = try Self.decision(
            results[1],
            on: change,
            hasAlert: push.hasAlert,
            in: activity,
            for: budgetClass
        )
        _ = try await connection.commit(
            [Self.record(decision, of: change, in: activity, for: budgetClass)]
                + (decision.isDemoted ? [demotion(decision, of: change, in: activity, for: budgetClass)] : [])
        )
        return decision.priority
    }

    /// The same by the rows of a ``selection(_:in:for:)``.
    private static func decided(_ rows: Rows, on push: PriorityCase) throws -> PushPriority? {
        guard let (_, priority, reason) = try rows.first(as: (Int64, Int16?, String?).self) else { return nil }
        return GivenPriority(stored: priority, reason)?.holding(for: push)
    }

    /// What the ledger says of a change now. Nothing is spent.
    static func judge(
        _ change: ChangeToSend,
        hasAlert: Bool,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass,
        on connection: PostgresConnection
    ) async throws -> PriorityDecision {
        let rows = try await connection.query(selection(change, in: activity, for: budgetClass))
        return try decision(rows, on: change, hasAlert: hasAlert, in: activity, for: budgetClass)
    }

    /// How many units were spent on other changes, and what was decided for this one.
    private static func selection(
        _ change: ChangeToSend,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass
    ) -> Query {
        """
        SELECT count(*) FILTER (
                   WHERE priority = 10 AND revision <> \(change.revision)
                   AND decided_at > clock_timestamp() - \(Duration.seconds(activity.policy.budget.windowSeconds))
               ),
               max(priority) FILTER (WHERE revision = \(change.revision)),
               max(reason) FILTER (WHERE revision = \(change.revision))
        FROM budget_ledger
        WHERE activity_key = \(activity.key) AND class = \(budgetClass.rawValue)::budget_class
        """
    }

    private static func decision(
        _ rows: Rows,
        on change: ChangeToSend,
        hasAlert: Bool,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass
    ) throws -> PriorityDecision {
        let (spent, _, _) = try rows.first(as: (Int64, Int16?, String?).self) ?? (Int64(0), nil, nil)
        let budget = activity.policy.budget
        let total = budgetClass == .frequent ? budget.frequent : budget.ordinary
        return PriorityRule.decide(
            kind: change.kind,
            urgency: change.urgency,
            hasAlert: hasAlert,
            remaining: max(total - Int(spent), 0),
            reserve: budget.reserve
        )
    }

    /// The statement that puts on record what was decided, now or `at` some time before. What is there already stays, unless
    /// it was decided for less; a unit counts from when it is spent (promise 10).
    static func record(
        _ decision: PriorityDecision,
        of change: ChangeToSend,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass,
        at time: PGTimestamp? = nil
    ) -> Query {
        """
        INSERT INTO budget_ledger AS b (activity_key, class, revision, priority, reason, explanation, decided_at)
        VALUES (\(activity.key), \(budgetClass.rawValue)::budget_class, \(change.revision),
                \(Int16(decision.priority.rawValue)), \(decision.reason.rawValue), \(decision.text),
                coalesce(\(time), clock_timestamp()))
        ON CONFLICT (activity_key, class, revision) DO UPDATE
        SET priority = EXCLUDED.priority, reason = EXCLUDED.reason, explanation = EXCLUDED.explanation,
            decided_at = EXCLUDED.decided_at
        WHERE b.priority < EXCLUDED.priority OR (b.priority = EXCLUDED.priority AND b.priority = 5)
        """
    }

    private func demotion(
        _ decision: PriorityDecision,
        of change: ChangeToSend,
        in activity: ActivitySnapshot,
        for budgetClass: BudgetClass
    ) -> Query {
        EventRows.insertion([
            Event(
                .demoted,
                of: .activity(key: activity.key),
                [
                    "revision": .number(JSONNumber(change.revision)), "class": .string(budgetClass.rawValue),
                    "reason": .string(decision.reason.rawValue), "explanation": .string(decision.text),
                ]
            )
        ])
    }
}
