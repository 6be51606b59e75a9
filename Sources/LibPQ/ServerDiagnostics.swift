/// The fields of an error that the server reported.
///
/// ``message`` and ``detail`` can quote values of rows and parameters; the others name things of the schema only.
package struct ServerDiagnostics: Sendable, Hashable {
    /// `ERROR`, `FATAL` or `PANIC`, never localised.
    package let severity: String?
    /// Five characters, Appendix A of the PostgreSQL manual; nil when libpq itself made the error.
    package let sqlState: String?
    /// The server's words. Not for logs.
    package let message: String?
    /// More of the server's words. Not for logs.
    package let detail: String?
    /// The server's advice. Not for logs.
    package let hint: String?
    /// Where in the statement, in characters from 1.
    package let position: Int?
    package let schema: String?
    package let table: String?
    package let column: String?
    package let constraint: String?
    /// The C function of the server that raised it: tells apart what shares an SQLSTATE.
    package let sourceFunction: String?

    /// Whether the server closed the connection over it.
    var isFatal: Bool { severity == "FATAL" || severity == "PANIC" }
}
