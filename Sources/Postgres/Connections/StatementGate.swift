/// A hook before each statement of a database. Simulations use it to delay or kill a daemon between any two steps.
///
/// A production daemon has none.
package struct StatementGate: Sendable {
    /// The point in a task at which the gate is called.
    package enum Moment: Sendable, Hashable {
        /// No transaction is open, so the task holds no lock.
        case betweenTransactions
        /// A transaction is open.
        case inTransaction
        /// Everything in a transaction is done except its COMMIT.
        case beforeCommit
        /// The COMMIT has taken effect, but the caller does not know it yet.
        case afterCommit
    }

    /// Returns when the task may continue. To stop the task, it throws, as if the connection had been lost there.
    package let pass: @Sendable (Moment) async throws(PostgresError) -> Void

    package init(_ pass: @escaping @Sendable (Moment) async throws(PostgresError) -> Void) {
        self.pass = pass
    }
}
