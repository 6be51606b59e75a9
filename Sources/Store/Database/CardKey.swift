package import Postgres

/// Names a card: that of a device of an activity. A card has one row of `subscriptions` at most.
package struct CardKey: Hashable, Sendable, Comparable {
    package let activityKey: Int64
    package let deviceKey: Int64

    package init(activityKey: Int64, deviceKey: Int64) {
        self.activityKey = activityKey
        self.deviceKey = deviceKey
    }

    /// Reads the columns `activity_key` and `device_key`.
    package init(_ row: Row) throws(PostgresError) {
        self.init(activityKey: try row["activity_key"], deviceKey: try row["device_key"])
    }

    package static func < (one: CardKey, other: CardKey) -> Bool {
        (one.activityKey, one.deviceKey) < (other.activityKey, other.deviceKey)
    }

    /// What locks the rows of cards in the order in which everybody does, whatever the order in which the statements
    /// after it change them: else two transactions might wait for each other. A single one needs no order.
    package static func hold(_ cards: [CardKey]) -> [Query] {
        guard cards.count > 1 else { return [] }
        let cards = cards.sorted()
        // A row after the other, because the loop over the cards is the outer one.
        return [
            """
            SELECT FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            CROSS JOIN LATERAL (
                SELECT FROM subscriptions AS s WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key
                FOR NO KEY UPDATE
            ) AS s
            """
        ]
    }
}
