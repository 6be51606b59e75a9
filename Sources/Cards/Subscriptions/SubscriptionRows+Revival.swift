import Postgres

// Cards whose update tokens were rejected on the way to a halt, which ends (``Revival`` of the room `DeliveryStore`).
extension SubscriptionRows {
    /// The part of a statement that makes the rejected cards in the rows of a table due at once. It returns the columns of
    /// cards.
    package static func revival(of cards: String) -> String {
        """
        UPDATE subscriptions AS s
        SET state = 'due', due_at = clock_timestamp(), failures = 0, reason = NULL
        FROM \(cards) AS r
        WHERE \(Query.byKey("s", "r", "activity_key", "device_key")) AND s.state::text = 'rejected'
        RETURNING s.activity_key, s.device_key, s.state
        """
    }

    /// The part of a statement after which the tokens of the cards in the rows of a table do not count as rejected. The
    /// states of the cards stay. It returns the keys of their devices.
    package static func forgiveness(of cards: String) -> String {
        """
        UPDATE subscriptions AS s SET rejected_at = NULL FROM \(cards) AS r
        WHERE \(Query.byKey("s", "r", "activity_key", "device_key"))
        RETURNING s.device_key
        """
    }
}
