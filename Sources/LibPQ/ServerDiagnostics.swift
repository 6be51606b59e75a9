/// The fields of an error from the server.
///
/// ``message`` and ``detail`` can quote values of rows and parameters. All other fields name only parts of the schema.
package struct ServerDiagnostics: Sendable, Hashable {
    /// `ERROR`, `FATAL` or `PANIC`; never localized.
    package let severity: String?
    /// Five characters, Appendix A of the PostgreSQL manual; `nil` if libpq itself made the error.
    package let sqlState: String?
    /// The server's message. Do not log it.
    package let message: String?
    /// The server's detail message. Do not log it.
    package let detail: String?
    /// The server's hint. Do not log it.
    package let hint: String?
    /// The position in the statement, in characters from 1.
    package let position: Int?
    package let schema: String?
    package let table: String?
    package let column: String?
    package let constraint: String?
    /// The C function of the server that raised the error. It distinguishes errors that share an SQLSTATE.
    package let sourceFunction: String?

    /// Whether the server closed the connection because of it.
    var isFatal: Bool { severity == "FATAL" || severity == "PANIC" }
}
