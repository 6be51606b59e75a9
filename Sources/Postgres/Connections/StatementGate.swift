/// Asked before a database's statements leave, so that a simulation can let a daemon wait, or die, between any two
/// steps.
///
/// A daemon that serves people has none.
package struct StatementGate: Sendable {
    /// Where the task stands that asks.
    package enum Moment: Sendable, Hashable {
        /// No transaction is open, so it holds no lock that others could wait for.
        case betweenTransactions
        /// A transaction is open.
        case inTransaction
        /// All of a transaction is done but its COMMIT.
        case beforeCommit
        /// The COMMIT has taken effect, and nobody knows yet.
        case afterCommit
    }

    /// Returns when the task may go on; throws to end what it is at, as if the connection had been lost there.
    package let pass: @Sendable (Moment) async throws(PostgresError) -> Void

    package init(_ pass: @escaping @Sendable (Moment) async throws(PostgresError) -> Void) {
        self.pass = pass
    }
}
