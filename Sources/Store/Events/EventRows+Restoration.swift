package import Postgres

extension EventRows {
    /// A part of the statement that settles a database restored from a dump: moves the events whose transactions this
    /// server has not reached yet to the transaction `restored`.
    package static func restoration(to restored: String) -> Query {
        """
        UPDATE events SET transaction_id = \(restored)::xid8
        WHERE \(unescaped: EventVisibility.isAhead("transaction_id"))
        """
    }
}
