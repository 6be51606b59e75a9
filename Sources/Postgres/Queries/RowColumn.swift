/// A column of rows that the program passes to a statement: `FROM \(rows: […]) AS u`.
///
/// The server unpacks each array before it reads the first row. For short rows that is most of its work. So declare a
/// column that rarely varies as ``usually(_:_:_:)``: if all rows have its usual value, only that value is sent.
package struct RowColumn: Sendable {
    fileprivate let name: StaticString
    fileprivate let isArray: Bool
    fileprivate let bind: @Sendable (inout Query.StringInterpolation) -> Void

    @usableFromInline
    init(name: StaticString, isArray: Bool, bind: @escaping @Sendable (inout Query.StringInterpolation) -> Void) {
        self.name = name
        self.isArray = isArray
        self.bind = bind
    }

    /// A value for each row.
    @inlinable
    package static func each<Value: PostgresArrayElement & Sendable>(
        _ name: StaticString,
        _ values: [Value]
    ) -> RowColumn {
        RowColumn(name: name, isArray: true) { $0.appendInterpolation(values) }
    }

    // Inlinable, like the next one. Otherwise each comparison would go through the type's witness table.
    /// A value for each row, which is nearly always `value`. Each set of columns that vary makes a separate statement.
    /// So do not use it for columns that often change between statements.
    @inlinable
    package static func usually<Value: PostgresValue & Equatable & Sendable>(
        _ value: Value,
        _ name: StaticString,
        _ values: [Value]
    ) -> RowColumn {
        guard values.allSatisfy({ $0 == value }) else { return .each(name, values) }
        return RowColumn(name: name, isArray: false) { $0.appendInterpolation(value) }
    }

    /// An optional value for each row, which nearly every row lacks.
    @inlinable
    package static func rarely<Value: PostgresValue & Sendable>(_ name: StaticString, _ values: [Value?]) -> RowColumn {
        guard values.allSatisfy({ $0 == nil }) else { return .each(name, values) }
        return RowColumn(name: name, isArray: false) { $0.appendInterpolation(Value?.none) }
    }
}

extension Query.StringInterpolation {
    /// The rows from the columns, all of one length. The first column must be one with a value for each row.
    package mutating func appendInterpolation(rows columns: [RowColumn]) {
        let (arrays, values) = (columns.filter(\.isArray), columns.filter { !$0.isArray })
        appendLiteral("(SELECT r.*")
        for column in values {
            appendLiteral(", ")
            column.bind(&self)
            appendLiteral(" AS \(column.name)")
        }
        appendLiteral(" FROM unnest(")
        for (place, column) in arrays.enumerated() {
            if place > 0 { appendLiteral(", ") }
            column.bind(&self)
        }
        appendLiteral(") AS r(\(arrays.map { "\($0.name)" }.joined(separator: ", "))))")
    }
}
