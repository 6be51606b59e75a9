import LibPQ

/// The rows of one result, decoded on access. Copies are cheap, because they share the server's bytes.
package struct Rows: Sendable, RandomAccessCollection {
    let result: ResultHandle

    init(_ result: ResultHandle) {
        self.result = result
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { result.rowCount }

    package subscript(position: Int) -> Row {
        precondition(indices.contains(position), "no row \(position) in this result")
        return Row(rows: self, index: position)
    }

    /// The rows that an INSERT, UPDATE, DELETE or MERGE affected, or that a SELECT returned.
    package var affectedRows: Int { result.affectedRows }

    /// The names of the columns in the statement.
    package var columns: [String] { (0..<result.columnCount).map(result.columnName) }

    /// Lends the bytes of one field in the server's binary format; `nil` for NULL. A `bytea` has the same bytes in it.
    /// Traps for an index out of range.
    package func withBytes<R, E: Error>(row: Int, column: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R? {
        if result.isNull(row: row, column: column) { return nil }
        return try result.withBytes(row: row, column: column, body)
    }

    /// Decodes all rows as tuples: `rows.decoded(as: (String, Int64?).self)`.
    ///
    /// - Throws: ``PostgresError/Code/decoding``, which names the column, never the value. The number of columns must
    ///   match.
    package func decoded<each Value: PostgresDecodable>(
        as types: (repeat each Value).Type
    ) throws(PostgresError) -> [(repeat each Value)] {
        var values: [(repeat each Value)] = []
        values.reserveCapacity(count)
        for row in self { values.append(try row.decode(types)) }
        return values
    }

    /// Decodes all rows of a single column: `rows.decoded(as: String.self)`.
    package func decoded<Value: PostgresDecodable>(as type: Value.Type) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in self { values.append(try row.decode(type)) }
        return values
    }

    /// Decodes the first row of a single column; `nil` without a row.
    package func first<Value: PostgresDecodable>(as type: Value.Type) throws(PostgresError) -> Value? {
        try first?.decode(type)
    }

    /// Decodes the first row; `nil` without a row.
    ///
    /// - Throws: ``PostgresError/Code/decoding``.
    package func first<each Value: PostgresDecodable>(
        as types: (repeat each Value).Type
    ) throws(PostgresError) -> (repeat each Value)? {
        try first?.decode(types)
    }
}

/// One row of a result. A type with more than a few fields has an `init(row)` beside the list of its columns, and reads
/// them by name: `stamp = try row["stamp"]`.
package struct Row: Sendable {
    let rows: Rows
    let index: Int

    /// Decodes the column of this name: `let stamp: Int64? = try row["stamp"]`. An expression needs a name:
    /// `count(*) AS changes`.
    ///
    /// - Throws: ``PostgresError/Code/decoding``, also for NULL unless `Value` is an optional.
    // Inlinable, so that other modules call the specialized `decode`.
    @inlinable
    package subscript<Value: PostgresDecodable>(_ name: StaticString) -> Value {
        get throws(PostgresError) { try decode(Value.self, at: column(named: name)) }
    }

    /// Where the column of this name is, counted from 0.
    package func column(named name: StaticString) throws(PostgresError) -> Int {
        guard let column = rows.result.column(named: name) else {
            throw PostgresError(.decoding, message: "no column is called \(name)")
        }
        return column
    }

    /// Decodes one column, counted from 0.
    ///
    /// - Throws: ``PostgresError/Code/decoding``, also for NULL unless `Value` is an optional.
    // Specialized here, because rows are read in other modules, which could call only the generic form.
    @specialized(where Value == Int64)
    @specialized(where Value == Int64?)
    @specialized(where Value == String)
    @specialized(where Value == String?)
    @specialized(where Value == Bool)
    @specialized(where Value == JSONText)
    @specialized(where Value == PGTimestamp)
    package func decode<Value: PostgresDecodable>(
        _: Value.Type = Value.self,
        at column: Int
    ) throws(PostgresError) -> Value {
        let result = rows.result
        guard (0..<result.columnCount).contains(column) else {
            throw PostgresError(.decoding, message: "no column \(column + 1) among \(result.columnCount)")
        }
        do throws(ValueFailure) {
            if result.isNull(row: index, column: column) { return try Value.decodeNull() }
            let oid = result.columnType(column)
            return try result.withBytes(row: index, column: column) { bytes throws(ValueFailure) in
                try Value.decodeField(bytes, oid: oid)
            }
        } catch {
            throw failure(error, column: column, expected: "\(Value.self)")
        }
    }

    /// Decodes the only column.
    ///
    /// - Throws: ``PostgresError/Code/decoding``.
    package func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        try expectColumns(1)
        return try decode(type, at: 0)
    }

    /// Decodes the whole row.
    ///
    /// - Throws: ``PostgresError/Code/decoding``.
    package func decode<each Value: PostgresDecodable>(
        _: (repeat each Value).Type
    ) throws(PostgresError) -> (repeat each Value) {
        var count = 0
        for _ in repeat (each Value).self { count += 1 }
        try expectColumns(count)
        var column = -1
        return (repeat try next((each Value).self, &column))
    }

    private func expectColumns(_ count: Int) throws(PostgresError) {
        guard count != rows.result.columnCount else { return }
        throw PostgresError(.decoding, message: "\(rows.result.columnCount) columns where \(count) are expected")
    }

    private func next<Value: PostgresDecodable>(_: Value.Type, _ column: inout Int) throws(PostgresError) -> Value {
        column += 1
        return try decode(Value.self, at: column)
    }

    private func failure(_ failure: ValueFailure, column: Int, expected: String) -> PostgresError {
        let reason =
            switch failure {
            case .null: "is NULL"
            case .type(let oid): "is of type \(oid)"
            case .malformed: "is malformed"
            case .outOfRange: "is out of range"
            }
        let name = rows.result.columnName(column)
        return PostgresError(.decoding, message: "column \(name) \(reason) where \(expected) is expected")
    }
}
