/// The database's schema and this program do not match, or a migration failed.
package struct MigrationError: Error, Sendable, CustomStringConvertible {
    /// The kind of problem. It tells the operator what to do.
    package enum Code: String, Sendable, Hashable {
        /// A migration of this program is invalid: a bug in Tally.
        case malformed
        /// Migrations are missing: run them.
        case databaseTooOld
        /// The database was made by a version before the first migration of this program. It cannot be upgraded.
        case beforeBaseline
        /// A newer program has changed the schema, and this one would do harm. Upgrade it.
        case databaseTooNew
        /// A migration was applied with a different text than in this program. One of the two was edited after release.
        case checksumMismatch
        /// A later migration was applied and an earlier one was not.
        case outOfOrder
        /// A migration failed and was rolled back. Those before it stay applied.
        case failed
        /// The database did not answer, so the state of its schema is unknown.
        case unreachable
    }

    package let code: Code
    /// For the operator; it names migrations, never data.
    package let message: String
    package let cause: PostgresError?

    init(_ code: Code, _ message: String, cause: PostgresError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String {
        cause.map { "\(message) (\($0))" } ?? message
    }
}
