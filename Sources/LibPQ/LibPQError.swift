/// An operation on a connection failed.
package struct LibPQError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. It also says what is known about the effect of the operation.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case malformedConnectionString, unreachable, connectionLost, timedOut, cancelled, server, busy, closed,
                misuse
        }
        private let kind: Kind

        /// The connection string is neither a URL nor keyword/value pairs. No attempt was made.
        package static let malformedConnectionString = Code(kind: .malformedConnectionString)
        /// No connection could be established, and no command was sent. A retry is safe.
        package static let unreachable = Code(kind: .unreachable)
        /// The connection broke and is closed. The current operation may or may not have taken effect.
        package static let connectionLost = Code(kind: .connectionLost)
        /// The deadline passed. The current operation may or may not have taken effect. The server was asked to cancel
        /// it, and the connection is closed.
        package static let timedOut = Code(kind: .timedOut)
        /// The task was cancelled. If anything had been sent, the effect is as for ``timedOut``.
        package static let cancelled = Code(kind: .cancelled)
        /// The server refused; ``LibPQError/diagnostics`` has the reason. The connection is still usable.
        package static let server = Code(kind: .server)
        /// Another operation is running on this connection. The caller violated the rule of one at a time.
        package static let busy = Code(kind: .busy)
        /// The connection was closed before, so no command was sent.
        package static let closed = Code(kind: .closed)
        /// libpq refused the call, such as COPY inside a pipeline. The connection is closed.
        package static let misuse = Code(kind: .misuse)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// The index of the pipeline's failed statement, from 0; `nil` if the failure belongs to no statement.
    package let statement: Int?
    /// The server's report, if it sent one.
    package let diagnostics: ServerDiagnostics?
    /// A message from libpq or from Tally. For a failed connection attempt it contains host and user, never a password.
    package let message: String?
    /// The SQLSTATE with which the server refused the connection; with several servers that of the last one, if all did.
    package let refusal: String?

    init(
        _ code: Code,
        message: String? = nil,
        statement: Int? = nil,
        diagnostics: ServerDiagnostics? = nil,
        refusal: String? = nil
    ) {
        self.code = code
        self.message = message
        self.refusal = refusal
        self.statement = statement
        self.diagnostics = diagnostics
    }

    /// Safe for logs: it omits the server's messages.
    package var description: String {
        var text = code.description
        if let state = diagnostics?.sqlState { text += " (SQLSTATE \(state))" }
        if code == .unreachable || code == .misuse, let message { text += ": \(message)" }
        return text
    }
}
