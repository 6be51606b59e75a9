import LibPQ

extension PostgresConnection {
    /// Appends rows to a table by binary COPY, the fastest way. The server stores all rows or none.
    ///
    /// - Parameters:
    ///   - table: The name, found through the server's search path. It is quoted here.
    ///   - columns: The columns that `encode` fills, in that order. All others get their defaults.
    ///   - rows: One element per row.
    ///   - timeout: The limit for all rows, instead of the configured one.
    ///   - encode: Appends the fields of one element, each of its column's own type.
    /// - Returns: The number of rows.
    /// - Throws: As ``query(_:timeout:)``; ``PostgresError/Code/server`` also if a row has too few or too many fields.
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
