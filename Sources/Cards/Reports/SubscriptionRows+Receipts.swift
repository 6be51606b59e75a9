import Postgres

extension SubscriptionRows {
    /// The part of a statement that stores what phones have shown.
    ///
    /// - Parameters:
    ///   - newest: A common table expression with the keys of cards, and the newest `revision` that each has shown, with
    ///     `shown_at`.
    ///   - held: One with the keys of those cards that are locked and whose rows tell of an older revision.
    /// - Returns: The SQL.
    static func showing(_ newest: String, among held: String) -> String {
        """
        UPDATE subscriptions AS s SET shown_revision = n.revision, shown_at = n.shown_at
        FROM \(newest) AS n JOIN \(held) AS h ON h.activity_key = n.activity_key AND h.device_key = n.device_key
        WHERE \(Query.byKey("s", "h", "activity_key", "device_key"))
        """
    }
}
