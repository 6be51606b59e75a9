package import JSON

/// A JSON Schema (2020-12), read once and then used for any number of values, from any thread.
///
/// Numbers are compared on their digits, never as floating point, and texts by code points. What cannot be checked is
/// refused when the schema is read, by name, so that no constraint is ever silently ignored. The work of reading and of
/// validating is bounded, whatever the schema and the value.
package struct CompiledSchema: Sendable {
    /// The largest schema document, in bytes of its compact form.
    package static let maximumSize = 256 * 1024

    let program: SchemaProgram

    /// Reads a schema document.
    package init(_ document: JSONValue, options: SchemaOptions = SchemaOptions()) throws(SchemaError) {
        var compiler = SchemaCompiler(options: options)
        program = SchemaProgram(try compiler.compile(document))
    }

    /// Everything that is wrong with a value, at most ``Validator/maximumViolations``; empty means that it is valid.
    package func validate(_ value: JSONValue) -> [Violation] {
        // Nearly every value is valid, and a look that keeps no track of places is enough to know.
        isValid(value) ? [] : Validator.violations(of: value, program)
    }

    /// Whether a value is valid.
    package func isValid(_ value: JSONValue) -> Bool { Validator.isValid(value, program) }
}
