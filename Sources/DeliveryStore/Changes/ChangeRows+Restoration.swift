package import Postgres
import Store

extension ChangeRows {
    /// As `EventRows.restoration(to:)` for changes, which are events of their own.
    package static func restoration(to restored: String) -> Query {
        """
        UPDATE changes SET transaction_id = \(restored)::xid8
        WHERE \(unescaped: EventVisibility.isAhead("transaction_id"))
        """
    }
}
