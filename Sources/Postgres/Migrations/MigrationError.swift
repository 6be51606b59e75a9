/// The database's schema and this program do not match, or a migration failed.
package struct MigrationError: Error, Sendable, CustomStringConvertible {
    /// The kind of problem. It tells the operator what to do.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case malformed, databaseTooOld, beforeBaseline, databaseTooNew, checksumMismatch, outOfOrder, failed
            case unreachable, wrongEncoding
        }
        private let kind: Kind

        /// A migration of this program is invalid: a bug in Tally.
        package static let malformed = Code(kind: .malformed)
        /// Migrations are missing: run them.
        package static let databaseTooOld = Code(kind: .databaseTooOld)
        /// The database was made by a version before the first migration of this program. It cannot be upgraded.
        package static let beforeBaseline = Code(kind: .beforeBaseline)
        /// A newer program has changed the schema, and this one would do harm. Upgrade it.
        package static let databaseTooNew = Code(kind: .databaseTooNew)
        /// A migration was applied with a different text than in this program. One of the two was edited after release.
        package static let checksumMismatch = Code(kind: .checksumMismatch)
        /// A later migration was applied and an earlier one was not.
        package static let outOfOrder = Code(kind: .outOfOrder)
        /// A migration failed and was rolled back. Those before it stay applied.
        package static let failed = Code(kind: .failed)
        /// The database did not answer, so the state of its schema is unknown.
        package static let unreachable = Code(kind: .unreachable)
        /// The database cannot hold text of every language. It must be made anew.
        package static let wrongEncoding = Code(kind: .wrongEncoding)

        package var description: String { kind.rawValue }
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
