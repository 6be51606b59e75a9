import Store

/// Cards that are served by their own rows, beside the ring (``CatchUpTurn``).
///
/// All cards of a ring can be due at once, and those of other rings can be due before them. So no condition reads all
/// that are due: it reads the first ones in the order of their times, and then those of the ring in their own order.
package enum DueCards {
    /// An SQL condition: some card of the ring `s` is due.
    package static let exist = """
        coalesce(
            (SELECT e.due_at <= now() FROM \(first) WHERE \(isOfRing) ORDER BY e.due_at LIMIT 1),
            CASE WHEN \(areMany) THEN (
                SELECT true FROM subscriptions AS d
                WHERE (d.activity_key, d.mode, d.device_key) > (s.activity_key, 'token', s.after_key)
                  AND (d.activity_key, d.mode, d.device_key) <= (s.activity_key, 'token', s.through_key)
                  AND d.state = 'due' AND d.due_at <= now()
                ORDER BY d.activity_key, d.mode, d.device_key LIMIT 1
            ) END,
            false)
        """

    /// An SQL expression: when the next card of the ring `s` is due; null if none ever is. If many cards of other rings
    /// come first, it is the time of another look.
    package static let next = """
        coalesce(
            (SELECT e.due_at FROM \(first) WHERE \(isOfRing) ORDER BY e.due_at LIMIT 1),
            CASE WHEN \(areMany) THEN clock_timestamp() + interval '1 second' END)
        """

    /// An SQL condition: no card of the activity `a` is owed a push of its own.
    package static let noneOnRings = none(CardStanding.isServedApart("d"))

    /// An SQL condition: no card of the activity `a` is owed a broadcast.
    package static let noneOnChannel = none(CardStanding.isOwedBroadcast("d"))

    /// Looks at one entry of the index, the first from the activity on. In a condition on the activity alone, the
    /// planner would expect to find one soon. If a large activity has nearly all cards of the database, it would read
    /// the whole table.
    ///
    /// It does not look beyond the activity, either. Behind it may be the entries of a million cards that a large
    /// activity has just moved. They are skipped one by one until the table is vacuumed.
    private static func none(_ isDue: String) -> String {
        """
        (SELECT d.activity_key FROM subscriptions AS d
         WHERE d.activity_key >= a.activity_key AND d.activity_key <= a.activity_key AND \(isDue)
         ORDER BY d.activity_key, d.mode, d.due_at LIMIT 1) IS DISTINCT FROM a.activity_key
        """
    }

    /// How many cards of the activity are looked at in the order of their times.
    private static let reach = 100

    private static let due = """
        FROM subscriptions AS d WHERE d.activity_key = s.activity_key AND \(CardStanding.isServedApart("d"))
        ORDER BY d.due_at
        """
    private static let first = "(SELECT d.due_at, d.device_key \(due) LIMIT \(reach)) AS e"
    private static let isOfRing = "e.device_key > s.after_key AND e.device_key <= s.through_key"
    private static let areMany = "(SELECT true \(due) OFFSET \(reach - 1) LIMIT 1)"
}
