import ActivityModel

/// What is told of the priority of routine changes. No budget has a say in it, so the ledger does not hold it; an older
/// version of the daemon has put it there, and that is told as it stands.
enum RoutinePriority {
    static let number = Int16(PriorityRule.routine.priority.rawValue)
    static let reason = PriorityRule.routine.reason.rawValue
    static let explanation = PriorityRule.routine.text

    /// An SQL condition: the change `c` is a routine one, and has left.
    ///
    /// Of the newest, the walk that has sent something since it was accepted says so at once. Of older ones, and of what goes to
    /// cards by their own rows, the timeline alone knows. A ring that nobody rides is passed without a push.
    static let hasLeft = """
        (\(PriorityRule.isRoutine("c")) AND c.merged_into IS NULL AND (
            EXISTS (SELECT FROM segments AS g WHERE g.activity_key = c.activity_key AND g.pushed_at >= c.accepted_at
                        AND c.revision IN (g.completed_revision, g.lap_revision))
            OR EXISTS (
                SELECT FROM timeline AS t
                WHERE t.activity_key = c.activity_key AND t.at >= c.accepted_at AND t.kind IN ('push', 'batch')
                  AND t.event = 'update' AND t.revision = c.revision
            )
        ))
        """
}
