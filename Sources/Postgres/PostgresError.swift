/// A database operation failed.
package struct PostgresError: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The kind of failure. It tells whether the operation took effect, whether to retry, and whom to inform.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case malformedURL, unreachable, poolExhausted, closed, connectionLost, timedOut, cancelled, commitUnknown
            case server, transactionAborted, decoding, misuse
        }
        private let kind: Kind

        /// The connection string is invalid. No attempt was made; inform the operator.
        package static let malformedURL = Code(kind: .malformedURL)
        /// No server accepted a connection in time. No statement was sent; retry later.
        package static let unreachable = Code(kind: .unreachable)
        /// All connections stayed in use until the deadline. No statement was sent; retry later.
        package static let poolExhausted = Code(kind: .poolExhausted)
        /// The database was shut down here, or a connection was used after its loan. No statement was sent.
        package static let closed = Code(kind: .closed)
        /// The connection broke. Inside a transaction, statements have not taken effect. Outside of one, they may or
        /// may not have.
        package static let connectionLost = Code(kind: .connectionLost)
        /// The deadline passed; otherwise like ``connectionLost``. The server was asked to cancel.
        package static let timedOut = Code(kind: .timedOut)
        /// The task was cancelled; otherwise like ``connectionLost``. The server was asked to cancel.
        package static let cancelled = Code(kind: .cancelled)
        /// A COMMIT was sent without an answer. The whole transaction may or may not have taken effect.
        package static let commitUnknown = Code(kind: .commitUnknown)
        /// The server refused; ``PostgresError/sqlState`` has the reason. The statement, and its whole transaction or
        /// pipeline, has not taken effect.
        package static let server = Code(kind: .server)
        /// The body of a transaction returned although a statement in it had failed. Everything was rolled back.
        package static let transactionAborted = Code(kind: .transactionAborted)
        /// A value does not have the expected type. The statement has taken effect; this is a bug in Tally.
        package static let decoding = Code(kind: .decoding)
        /// A bug in Tally: two operations at once on one connection, or a call that a pipeline does not allow.
        package static let misuse = Code(kind: .misuse)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Five characters, Appendix A of the PostgreSQL manual.
    package let sqlState: String?
    /// The violated constraint, for class 23.
    package let constraint: String?
    /// The table that the server reported.
    package let table: String?
    /// The index of the pipeline's failed statement, from 0.
    package let statement: Int?
    /// A message without values of rows or parameters.
    package let message: String?
    /// The server's message. It can quote values, so ``description`` omits it.
    package let serverMessage: String?
    /// The underlying error.
    package let cause: (any Error)?

    package init(
        _ code: Code,
        message: String? = nil,
        sqlState: String? = nil,
        constraint: String? = nil,
        table: String? = nil,
        statement: Int? = nil,
        serverMessage: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.constraint = constraint
        self.table = table
        self.statement = statement
        self.serverMessage = serverMessage
        self.cause = cause
    }

    /// Whether the server refuses this role, its password or the database: until somebody mends it, it will go on to. A
    /// server that starts or stops says something else.
    var isLastingRefusal: Bool {
        guard code == .unreachable, let sqlState else { return false }
        return sqlState.hasPrefix("28") || sqlState == "3D000"
    }

    /// Safe for logs.
    package var description: String {
        var text = "postgres: \(code)"
        if let sqlState { text += " \(sqlState)" }
        if let statement, statement > 0 { text += ", statement \(statement + 1)" }
        if let table { text += ", table \(table)" }
        if let constraint { text += ", constraint \(constraint)" }
        if let message { text += ": \(message)" }
        return text
    }

    /// Includes the server's message, which can quote values.
    package var debugDescription: String {
        guard let serverMessage, serverMessage != message else { return description }
        return "\(description) [\(serverMessage)]"
    }
}
