import CLibPQ

/// A result as libpq keeps it: all rows, in the binary format. Freed when the last reference goes.
@safe
package final class ResultHandle: @unchecked Sendable {
    // Sendable without a check by the compiler: a PGresult never changes once libpq has handed it out, and libpq's
    // manual allows any thread to read it.
    private let raw: OpaquePointer

    /// What kind of result it is.
    package enum Status: Sendable, Hashable {
        case command, tuples, empty, copyIn, copyOut, pipelineSync, pipelineAborted, error, other
    }

    /// Takes ownership.
    init(owning raw: OpaquePointer) {
        unsafe self.raw = raw
        status = unsafe Self.status(of: PQresultStatus(raw))
        rowCount = unsafe Int(PQntuples(raw))
        columnCount = unsafe Int(PQnfields(raw))
    }

    deinit { unsafe PQclear(raw) }

    package let status: Status
    package let rowCount: Int
    package let columnCount: Int

    /// Rows that the command touched, 0 where the command does not say.
    package var affectedRows: Int { unsafe Int(String(cString: PQcmdTuples(raw))) ?? 0 }

    /// The command as the server names it: `INSERT 0 1`, `COMMIT`, or `ROLLBACK` where a commit was not possible.
    package var commandTag: String { unsafe String(cString: PQcmdStatus(raw)) }

    /// The name of a column; empty beyond the last.
    package func columnName(_ column: Int) -> String {
        unsafe PQfname(raw, Int32(column)).map { unsafe String(cString: $0) } ?? ""
    }

    /// The OID of a column's type; 0 beyond the last.
    package func columnType(_ column: Int) -> UInt32 { unsafe PQftype(raw, Int32(column)) }

    /// Whether a field is NULL. Traps outside of the result.
    package func isNull(row: Int, column: Int) -> Bool {
        check(row, column)
        return unsafe PQgetisnull(raw, Int32(row), Int32(column)) == 1
    }

    /// Lends the bytes of one field, none for NULL. Traps outside of the result.
    package func withBytes<R, E: Error>(
        row: Int,
        column: Int,
        _ body: (RawSpan) throws(E) -> R
    ) throws(E) -> R {
        check(row, column)
        let count = unsafe Int(PQgetlength(raw, Int32(row), Int32(column)))
        let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(raw, Int32(row), Int32(column)), count: count)
        return try unsafe body(bytes.bytes)
    }

    /// What the server said about the failure; only of an error.
    package var diagnostics: ServerDiagnostics {
        ServerDiagnostics(
            severity: field(CLibPQ_DIAG_SEVERITY),
            sqlState: field(CLibPQ_DIAG_SQLSTATE),
            message: field(CLibPQ_DIAG_MESSAGE_PRIMARY),
            detail: field(CLibPQ_DIAG_MESSAGE_DETAIL),
            hint: field(CLibPQ_DIAG_MESSAGE_HINT),
            position: field(CLibPQ_DIAG_STATEMENT_POSITION).flatMap { Int($0) },
            schema: field(CLibPQ_DIAG_SCHEMA_NAME),
            table: field(CLibPQ_DIAG_TABLE_NAME),
            column: field(CLibPQ_DIAG_COLUMN_NAME),
            constraint: field(CLibPQ_DIAG_CONSTRAINT_NAME),
            sourceFunction: field(CLibPQ_DIAG_SOURCE_FUNCTION)
        )
    }

    private func field(_ code: Int) -> String? {
        unsafe PQresultErrorField(raw, Int32(code)).map { unsafe String(cString: $0) }
    }

    private func check(_ row: Int, _ column: Int) {
        precondition(
            (0..<rowCount).contains(row) && (0..<columnCount).contains(column),
            "no row \(row), column \(column) in this result"
        )
    }

    private static func status(of status: ExecStatusType) -> Status {
        switch status {
        case PGRES_COMMAND_OK: .command
        case PGRES_TUPLES_OK: .tuples
        case PGRES_EMPTY_QUERY: .empty
        case PGRES_COPY_IN: .copyIn
        case PGRES_COPY_OUT, PGRES_COPY_BOTH: .copyOut
        case PGRES_PIPELINE_SYNC: .pipelineSync
        case PGRES_PIPELINE_ABORTED: .pipelineAborted
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: .error
        default: .other
        }
    }
}
