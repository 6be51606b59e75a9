package import LibPQ

/// A statement whose interpolated values travel as binary parameters, never as text.
///
/// `"SELECT name FROM people WHERE id = \(id) AND tag = ANY(\(tags))"` becomes `… id = $1 AND tag = ANY($2)`. The text
/// between the values should be constant: each distinct text is prepared and kept per connection.
package struct Query: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// What goes to the server.
    package let statement: Statement

    package var sql: String { statement.sql }

    package init(stringLiteral value: String) {
        statement = Statement(sql: value)
    }

    package init(stringInterpolation: StringInterpolation) {
        statement = Statement(sql: stringInterpolation.sql, parameters: stringInterpolation.parameters)
    }

    /// SQL that is not known at compile time. The caller answers for what is in it.
    package init(unescaped sql: String) {
        statement = Statement(sql: sql)
    }

    /// The statement that lets the server plan all that follow in the transaction, or the pipeline, once for each
    /// connection, and look up every row by an index.
    ///
    /// Else it weighs up for every execution whether to plan anew for the very values, and finds that worth its while
    /// for short arrays again and again, though planning costs more than all the rest. And what it plans while a table
    /// is new and short, it keeps: it would go on reading the whole of it when it has long grown. Joins are loops, the
    /// elements of an array outside, so rows are met in the order of the array. Not for statements whose best plan
    /// depends on their values, nor for those that join two arrays.
    package static let planningOnce: Query = """
        SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
               set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)
        """

    /// Collects the text of a query, and its values apart from it.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = ""
        fileprivate var parameters = Parameters()

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.reserveCapacity(literalCapacity + interpolationCount * 3)
        }

        package mutating func appendLiteral(_ literal: String) {
            sql += literal
        }

        /// Binds a value.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            parameters.append(type: Value.postgresType.oid) { value.encodePostgres(into: &$0) }
            appendPlaceholder()
        }

        /// Binds a value, or NULL of its type.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            if let value { return appendInterpolation(value) }
            parameters.appendNull(type: Value.postgresType.oid)
            appendPlaceholder()
        }

        /// Puts text into the statement as it is. Never for what came from outside.
        package mutating func appendInterpolation(unescaped text: String) {
            sql += text
        }

        /// Puts a quoted identifier into the statement.
        package mutating func appendInterpolation(identifier name: String) {
            sql += Query.quoted(identifier: name)
        }

        private mutating func appendPlaceholder() {
            sql += "$\(parameters.count)"
        }
    }

    /// An SQL identifier in double quotes.
    static func quoted(identifier name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
