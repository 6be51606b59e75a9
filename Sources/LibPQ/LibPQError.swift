/// An operation on a connection failed.
package struct LibPQError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. It also says what is known about the effect of the operation.
    package enum Code: String, Sendable, Hashable {
        /// The connection string is neither a URL nor keyword/value pairs. No attempt was made.
        case malformedConnectionString
        /// No connection could be established, and no command was sent. A retry is safe.
        case unreachable
        /// The connection broke and is closed. The current operation may or may not have taken effect.
        case connectionLost
        /// The deadline passed. The current operation may or may not have taken effect. The server was asked to cancel
        /// it, and the connection is closed.
        case timedOut
        /// The task was cancelled. If anything had been sent, the effect is as for ``timedOut``.
        case cancelled
        /// The server refused; ``LibPQError/diagnostics`` has the reason. The connection is still usable.
        case server
        /// Another operation is running on this connection. The caller violated the rule of one at a time.
        case busy
        /// The connection was closed before, so no command was sent.
        case closed
        /// libpq refused the call, such as COPY inside a pipeline. The connection is closed.
        case misuse
    }

    package let code: Code
    /// The index of the pipeline's failed statement, from 0; `nil` if the failure belongs to no statement.
    package let statement: Int?
    /// The server's report, if it sent one.
    package let diagnostics: ServerDiagnostics?
    /// A message from libpq or from Tally. For a failed connection attempt it contains host and user, never a password.
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

    /// Safe for logs: it omits the server's messages.
    package var description: String {
        var text = code.rawValue
        if let state = diagnostics?.sqlState { text += " (SQLSTATE \(state))" }
        if code == .unreachable || code == .misuse, let message { text += ": \(message)" }
        return text
    }
}
