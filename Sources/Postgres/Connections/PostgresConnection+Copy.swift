import LibPQ

extension PostgresConnection {
    /// Appends rows to a table by binary COPY, the fastest way in. All or none of them.
    ///
    /// - Parameters:
    ///   - table: found by the server's search path; quoted here.
    ///   - columns: those that `encode` gives, in that order; the others take their defaults.
    ///   - rows: one element per row.
    ///   - timeout: for all rows, instead of the configured one.
    ///   - encode: appends the fields of one element, each of its column's own type.
    /// - Returns: the number of rows.
    /// - Throws: as ``query(_:timeout:)``; ``PostgresError/Code/server`` also when a row has too few or too many
    ///   fields.
    @discardableResult
    package func copyIn<Element>(
        into table: String,
        columns: [String],
        _ rows: some Sequence<Element>,
        timeout: Duration? = nil,
        encode: @escaping (Element, inout CopyRow) -> Void
    ) async throws(PostgresError) -> Int {
        try await beginIfWanted()
        let deadline = deadline(timeout)
        let names = columns.map(Query.quoted(identifier:)).joined(separator: ", ")
        let sql = "COPY \(Query.quoted(identifier: table)) (\(names)) FROM STDIN (FORMAT binary)"
        var encoder = CopyEncoder(rows, encode: encode)
        return try await withSession { (session) async throws(LibPQError) in
            try await session.copyIn(sql, until: deadline) { encoder.next() }
        }
    }
}
