/// A column of the rows that a statement takes from the program: `FROM \(rows: […]) AS u`.
///
/// The server lists each array before it looks at the first row, and for short rows that is the largest part of its
/// work. So a column that is the same in most statements is said to be (``usually(_:_:_:)``): where all rows have its
/// usual value, that travels alone.
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

    // Inlinable, as the next: else each value of each row is compared by way of its type's tables.
    /// A value for each row, which is hardly ever another than `value` in any of them. Each set of columns in which it
    /// is makes a statement of its own, so this is not for what changes from one statement to the next.
    @inlinable
    package static func usually<Value: PostgresValue & Equatable & Sendable>(
        _ value: Value,
        _ name: StaticString,
        _ values: [Value]
    ) -> RowColumn {
        guard values.allSatisfy({ $0 == value }) else { return .each(name, values) }
        return RowColumn(name: name, isArray: false) { $0.appendInterpolation(value) }
    }

    /// A value for each row, which hardly any has.
    @inlinable
    package static func rarely<Value: PostgresValue & Sendable>(_ name: StaticString, _ values: [Value?]) -> RowColumn {
        guard values.allSatisfy({ $0 == nil }) else { return .each(name, values) }
        return RowColumn(name: name, isArray: false) { $0.appendInterpolation(Value?.none) }
    }
}

extension Query.StringInterpolation {
    /// The rows that the columns make, all of one length; the first is one that each row has a value for.
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
