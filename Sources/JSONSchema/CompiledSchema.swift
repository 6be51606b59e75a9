package import JSON

/// A JSON Schema (2020-12), read once and then used for any number of values, from any thread.
///
/// What is supported is supported exactly: numbers are compared on their digits, never as floating point, and texts by
/// code points. What is not is refused when the schema is read, by name, so that no constraint is ever silently ignored.
package struct CompiledSchema: Sendable {
    private let nodes: [SchemaNode]

    /// Reads a schema document.
    package init(_ document: JSONValue) throws(SchemaError) {
        var compiler = SchemaCompiler(document)
        nodes = try compiler.compile()
    }

    /// Everything that is wrong with a value, at most ``Validator/maximumViolations``; empty means that it is valid.
    package func validate(_ value: JSONValue) -> [Violation] {
        // Nearly every value is valid, and a look that keeps no track of places is enough to know.
        isValid(value) ? [] : Validator.violations(of: value, nodes: nodes)
    }

    /// Whether a value is valid.
    package func isValid(_ value: JSONValue) -> Bool { Validator.isValid(value, nodes: nodes) }
}
