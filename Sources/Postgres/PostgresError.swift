/// Something about the database did not work.
package struct PostgresError: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What kind of failure it was: whether it happened, whether to try again, whom to tell.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case malformedURL, unreachable, poolExhausted, closed, connectionLost, timedOut, cancelled, commitUnknown
            case server, transactionAborted, decoding, misuse
        }
        private let kind: Kind

        /// The connection string makes no sense. Nothing was tried; tell the operator.
        package static let malformedURL = Code(kind: .malformedURL)
        /// No server took a connection in time. Nothing was sent; try again later.
        package static let unreachable = Code(kind: .unreachable)
        /// All connections stayed in use until the deadline. Nothing was sent; try again later.
        package static let poolExhausted = Code(kind: .poolExhausted)
        /// The database was shut down here, or a connection was used after its lease. Nothing was sent.
        package static let closed = Code(kind: .closed)
        /// The connection broke. What was sent outside of a transaction may or may not have taken effect; inside of one
        /// it has not.
        package static let connectionLost = Code(kind: .connectionLost)
        /// The deadline passed; otherwise as ``connectionLost``. The server was asked to stop.
        package static let timedOut = Code(kind: .timedOut)
        /// The task was cancelled; otherwise as ``connectionLost``. The server was asked to stop.
        package static let cancelled = Code(kind: .cancelled)
        /// A COMMIT was sent and no answer came: the transaction may or may not have taken effect as a whole.
        package static let commitUnknown = Code(kind: .commitUnknown)
        /// The server refused; ``PostgresError/sqlState`` says why. The statement, and everything with it in one
        /// transaction or pipeline, has not taken effect.
        package static let server = Code(kind: .server)
        /// The body of a transaction returned although a statement in it had failed. Everything was undone.
        package static let transactionAborted = Code(kind: .transactionAborted)
        /// A value is not what the program takes it for. The statement has taken effect; this is our bug.
        package static let decoding = Code(kind: .decoding)
        /// Our bug: two operations at once on one connection, or something that a pipeline cannot do.
        package static let misuse = Code(kind: .misuse)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Five characters, Appendix A of the PostgreSQL manual.
    package let sqlState: String?
    /// The constraint that refused, for class 23.
    package let constraint: String?
    /// The table that the server names.
    package let table: String?
    /// Which statement of a pipeline failed, from 0.
    package let statement: Int?
    /// Words without any value of a row or parameter.
    package let message: String?
    /// The server's words. They can quote values, so they stay out of ``description``.
    package let serverMessage: String?
    /// What is below it.
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

    /// With the server's words, which can quote values.
    package var debugDescription: String {
        guard let serverMessage, serverMessage != message else { return description }
        return "\(description) [\(serverMessage)]"
    }
}
