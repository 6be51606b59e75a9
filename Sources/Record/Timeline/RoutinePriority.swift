import ActivityModel
import Store

/// What is told of the priority of routine changes. No budget has a say in it, so the ledger does not hold it; an older
/// version of the daemon has put it there, and that is told as it stands.
enum RoutinePriority {
    static let number = Int16(PriorityRule.routine.priority.rawValue)
    static let reason = PriorityRule.routine.reason.rawValue
    static let explanation = PriorityRule.routine.text

    /// An SQL condition: the change `c` is a routine one, and was not merged into another.
    static let isMeant = "(\(PriorityRule.isRoutine("c")) AND c.merged_into IS NULL)"

    /// An SQL condition: the change `c`, of which ``isMeant`` holds, has left.
    ///
    /// What is on record as sent has left. For the newest change, a walk that has sent something since says it at
    /// once. For the rest the timeline alone knows. One worker sends them in their order. So only the first push is read
    /// that left of this change or a newer one. A ring that nobody rides is passed without a push.
    static let hasLeft = """
        (\(SentChange.isSent("c"))
            OR EXISTS (SELECT FROM segments AS g WHERE g.activity_key = c.activity_key AND g.pushed_at >= c.accepted_at
                        AND c.revision IN (g.completed_revision, g.lap_revision))
            OR c.revision = (
                SELECT t.revision FROM timeline AS t
                WHERE t.activity_key = c.activity_key AND t.at >= c.accepted_at AND t.kind IN ('push', 'batch')
                  AND t.event = 'update' AND t.revision >= c.revision
                ORDER BY t.activity_key, t.at, t.entry_id LIMIT 1
            ))
        """
}
