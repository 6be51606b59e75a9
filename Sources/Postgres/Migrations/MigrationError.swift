/// The database's schema and this program do not belong together, or a migration failed.
package struct MigrationError: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and so what the operator is to do.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case malformed, databaseTooOld, databaseTooNew, checksumMismatch, outOfOrder, failed, unreachable
        }
        private let kind: Kind

        /// A migration of this program makes no sense: a bug of ours.
        package static let malformed = Code(kind: .malformed)
        /// Migrations are missing: run them.
        package static let databaseTooOld = Code(kind: .databaseTooOld)
        /// A newer program has changed the schema so that this one would do harm: upgrade it.
        package static let databaseTooNew = Code(kind: .databaseTooNew)
        /// A migration was applied from another text than this program has: one of the two was edited after release.
        package static let checksumMismatch = Code(kind: .checksumMismatch)
        /// A later migration was applied and an earlier one was not.
        package static let outOfOrder = Code(kind: .outOfOrder)
        /// A migration failed and was undone; those before it stay applied.
        package static let failed = Code(kind: .failed)
        /// The database did not answer; nothing is known about its schema.
        package static let unreachable = Code(kind: .unreachable)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// For the operator; names migrations, never data.
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
