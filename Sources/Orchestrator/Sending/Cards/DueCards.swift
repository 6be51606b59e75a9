/// Cards that are served by their own rows, beside the ring (``CatchUpTurn``).
enum DueCards {
    /// An SQL condition: some card of the ring `s` is due.
    ///
    /// It asks for the first entry in the order of the index. An EXISTS makes the planner go through the cards of the
    /// ring: at 10,000,000 cards it read 1,400,000 rows to find the first.
    static let exist = """
        coalesce((
            SELECT d.due_at <= now() FROM subscriptions AS d
            WHERE d.activity_key = s.activity_key AND d.mode = 'token' AND d.state = 'due'
              AND d.device_key > s.after_key AND d.device_key <= s.through_key
            ORDER BY d.due_at LIMIT 1
        ), false)
        """
}
