package import Postgres

/// A table that may have many rows for an activity, which are deleted before the activity is. The room that writes the
/// table describes it; the top deletes (`ActivityDeletion`).
package struct ActivityPart: Sendable {
    private let table: String
    private let order: String
    private let condition: String

    /// - Parameters:
    ///   - table: The table; it has a column `activity_key`.
    ///   - order: The order of an activity's rows `p` in the index that finds them.
    ///   - condition: An SQL condition: which of the rows `p` may go before the activity does.
    package init(table: String, order: String, condition: String = "true") {
        self.table = table
        self.order = order
        self.condition = condition
    }

    /// The statement that deletes some rows of activities, at most `limit`. Rows that somebody is about to change are
    /// left.
    package func deletion(of keys: [Int64], limit: Int) -> Query {
        """
        DELETE FROM \(unescaped: table) WHERE ctid = ANY(ARRAY(
            SELECT p.ctid FROM \(unescaped: table) AS p WHERE p.activity_key = ANY(\(keys)) AND \(unescaped: condition)
            ORDER BY p.activity_key, \(unescaped: order) LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        """
    }

    /// An SQL condition: the activity `a` has none of them.
    package var isEmpty: String {
        "NOT EXISTS (SELECT FROM \(table) AS p WHERE p.activity_key = a.activity_key AND \(condition) OFFSET 0)"
    }
}
