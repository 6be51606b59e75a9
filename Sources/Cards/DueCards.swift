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

    /// How many cards of the activity are looked at in the order of their times.
    private static let reach = 100

    private static let due = """
        FROM subscriptions AS d WHERE d.activity_key = s.activity_key AND d.mode = 'token' AND d.state = 'due'
        ORDER BY d.due_at
        """
    private static let first = "(SELECT d.due_at, d.device_key \(due) LIMIT \(reach)) AS e"
    private static let isOfRing = "e.device_key > s.after_key AND e.device_key <= s.through_key"
    private static let areMany = "(SELECT true \(due) OFFSET \(reach - 1) LIMIT 1)"
}
