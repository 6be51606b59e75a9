import CLibPQ
import Glibc
import Synchronization

/// A libpq result: all rows, in binary format. It is freed with its last reference.
@safe
package final class ResultHandle: @unchecked Sendable {
    // Unchecked, but correct: a PGresult never changes after libpq has returned it, and libpq's manual allows any
    // thread to read it.
    private let raw: OpaquePointer
    /// Where ``column(named:)`` begins to search. Any value is right.
    private let next = Atomic(0)

    /// The kind of result.
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

    /// The number of rows that the command affected; 0 if the command reports none.
    package var affectedRows: Int { unsafe Int(String(cString: PQcmdTuples(raw))) ?? 0 }

    /// The server's command tag: `INSERT 0 1`, `COMMIT`, or `ROLLBACK` if a commit was impossible.
    package var commandTag: String { unsafe String(cString: PQcmdStatus(raw)) }

    /// The name of a column; empty for an index out of range.
    package func columnName(_ column: Int) -> String {
        unsafe PQfname(raw, Int32(column)).map { unsafe String(cString: $0) } ?? ""
    }

    /// The column of this name; nil if there is none. No two columns that are read by name have the same one.
    package func column(named name: StaticString) -> Int? {
        // Mostly columns are read in their order. So the search begins behind the last one that was found.
        let first = next.load(ordering: .relaxed)
        guard
            let found = (first..<columnCount).first(where: { isColumn($0, named: name) })
                ?? (0..<min(first, columnCount)).first(where: { isColumn($0, named: name) })
        else { return nil }
        next.store(found + 1, ordering: .relaxed)
        return found
    }

    private func isColumn(_ column: Int, named name: StaticString) -> Bool {
        // Compared in place: to make a text of each name would take longer than to decode a field.
        guard let found = unsafe PQfname(raw, Int32(column)) else { return false }
        return unsafe strcmp(found, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
    }

    /// The OID of a column's type; 0 for an index out of range.
    package func columnType(_ column: Int) -> UInt32 { unsafe PQftype(raw, Int32(column)) }

    /// Whether a field is NULL. Traps for an index out of range.
    package func isNull(row: Int, column: Int) -> Bool {
        check(row, column)
        return unsafe PQgetisnull(raw, Int32(row), Int32(column)) == 1
    }

    /// Lends the bytes of one field; empty for NULL. Traps for an index out of range.
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

    /// The server's report about the failure; only in an error result.
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
