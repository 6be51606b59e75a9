package import LibPQ

/// A statement whose interpolated values are sent as binary parameters, never as text.
///
/// `"SELECT name FROM people WHERE id = \(id) AND tag = ANY(\(tags))"` becomes `… id = $1 AND tag = ANY($2)`. The text
/// between the values should be constant, because each distinct text is prepared and cached per connection.
package struct Query: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The statement for the server.
    package let statement: Statement

    package var sql: String { statement.sql }

    package init(stringLiteral value: String) {
        statement = Statement(sql: value)
    }

    package init(stringInterpolation: StringInterpolation) {
        statement = Statement(sql: stringInterpolation.sql, parameters: stringInterpolation.parameters)
    }

    /// SQL that is not known at compile time. The caller is responsible for its content.
    package init(unescaped sql: String) {
        statement = Statement(sql: sql)
    }

    /// Makes the server plan each following statement of the transaction or pipeline once per connection, and join by
    /// nested loops.
    ///
    /// By default the server decides at every execution whether to plan again for the current values. For short arrays
    /// it often does, although planning costs more than all the rest. With ``byKey(_:_:_:)`` or LATERAL the elements of an
    /// array are outside, so rows come in the order of the array. Do not use it for statements whose
    /// best plan depends on their values, or that join two arrays.
    package static let planningOnce: Query = """
        SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_hashjoin', 'off', true),
               set_config('enable_mergejoin', 'off', true)
        """

    /// Makes the server read the rows of the following statements in the order of an index, if one has the order that
    /// they ask for; with `false` it may sort again. A plan that was made for a tiny table would read all of a large one,
    /// and sort it for the first few.
    package static func unsorted(_ isUnsorted: Bool) -> Query {
        "SELECT set_config('enable_sort', \(isUnsorted ? "off" : "on"), true)"
    }

    /// The condition that `given`, which comes from arrays, names the row `found` by these columns of a key. It belongs
    /// into statements behind ``planningOnce``.
    ///
    /// With an equality the server may turn the join round: it reads the whole table by an index, and looks for each of
    /// its rows among the given ones. Under this condition it looks each given row up, unless it takes the table for a tiny
    /// one. A plan that was made for a tiny table is kept until the server has analyzed the table again. Where a table
    /// grows fast from nothing, read by LATERAL instead, and bound an UPDATE or DELETE by the array of keys (`= ANY`).
    /// Bound one column by an array, and the others by a single value. With two arrays the server looks each value of one up
    /// with each of the other.
    ///
    /// A condition such as `state = 'pending'` lets the server read all of an index that has only such rows. Written as
    /// `state::text = 'pending'`, it only filters what another index finds.
    ///
    /// `SimulationTests` looks at the plans of all statements of some lives.
    package static func byKey(_ found: String, _ given: String, _ columns: String...) -> String {
        columns.map { "\(found).\($0) = ANY(ARRAY[\(given).\($0)])" }.joined(separator: " AND ")
    }

    /// Collects the text of a query separately from its values.
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

        /// Inserts a part of a statement with its values, such as a common table expression that another room writes.
        package mutating func appendInterpolation(part: Query) {
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            let before = parameters.count
            var rest = part.sql.utf8[...]
            while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
                let number = rest[rest.index(after: dollar)...].prefix(while: digits.contains)
                sql += Substring(rest[...dollar])
                if let index = Int(Substring(number)) { sql += String(before + index) }
                rest = rest[number.endIndex...]
            }
            sql += Substring(rest)
            parameters.append(part.statement.parameters)
        }

        /// Inserts text into the statement unchanged. Never use it for outside input.
        package mutating func appendInterpolation(unescaped text: String) {
            sql += text
        }

        /// Inserts a quoted identifier into the statement.
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
