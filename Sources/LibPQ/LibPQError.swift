/// An operation on a connection did not succeed.
package struct LibPQError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was, and so what is known about its effect.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case malformedConnectionString, unreachable, connectionLost, timedOut, cancelled, server, busy, closed,
                misuse
        }
        private let kind: Kind

        /// The connection string is neither a URL nor keyword/value pairs. Nothing was tried.
        package static let malformedConnectionString = Code(kind: .malformedConnectionString)
        /// No connection came about; nothing was sent. May be tried again.
        package static let unreachable = Code(kind: .unreachable)
        /// The connection broke. What was under way may or may not have taken effect; the connection is gone.
        package static let connectionLost = Code(kind: .connectionLost)
        /// The deadline passed. What was under way may or may not have taken effect; the server was asked to give it
        /// up, and the connection is gone.
        package static let timedOut = Code(kind: .timedOut)
        /// The task was cancelled. As with ``timedOut`` if anything had been sent.
        package static let cancelled = Code(kind: .cancelled)
        /// The server refused; ``LibPQError/diagnostics`` says why. The connection is fine.
        package static let server = Code(kind: .server)
        /// Another operation is under way on this connection: the caller broke the rule of one at a time.
        package static let busy = Code(kind: .busy)
        /// The connection was closed before; nothing was sent.
        package static let closed = Code(kind: .closed)
        /// libpq refused the call, such as COPY inside a pipeline. The connection is gone.
        package static let misuse = Code(kind: .misuse)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Which statement of the pipeline failed, from 0; nil when the failure belongs to none.
    package let statement: Int?
    /// What the server said, where it said anything.
    package let diagnostics: ServerDiagnostics?
    /// libpq's words about the connection, or ours. For a failed connect it names host and user, never a password.
    package let message: String?

    init(
        _ code: Code,
        message: String? = nil,
        statement: Int? = nil,
        diagnostics: ServerDiagnostics? = nil
    ) {
        self.code = code
        self.message = message
        self.statement = statement
        self.diagnostics = diagnostics
    }

    /// Safe for logs: the server's own words stay out of it.
    package var description: String {
        var text = code.description
        if let state = diagnostics?.sqlState { text += " (SQLSTATE \(state))" }
        if code == .unreachable || code == .misuse, let message { text += ": \(message)" }
        return text
    }
}
