package import JSON

/// A JSON Schema (2020-12). Compile it once, then validate any number of values, from any thread.
///
/// Numbers are compared by their digits, never as floating point, and strings by code points. Compilation refuses every
/// keyword that cannot be checked, by name, so no constraint is silently ignored. The cost of compiling and validating
/// is bounded for every schema and value.
package struct CompiledSchema: Sendable {
    /// The maximum size of a schema document, in bytes of its compact form.
    package static let maximumSize = 256 * 1024

    let program: SchemaProgram

    /// Compiles a schema document.
    package init(_ document: JSONValue, options: SchemaOptions = SchemaOptions()) throws(SchemaError) {
        var compiler = SchemaCompiler(options: options)
        program = SchemaProgram(try compiler.compile(document))
    }

    /// All violations of a value, at most ``Validator/maximumViolations``; empty if it is valid.
    package func validate(_ value: JSONValue) -> [Violation] {
        // Nearly every value is valid, and a check without locations is enough to know.
        isValid(value) ? [] : Validator.violations(of: value, program)
    }

    /// Whether a value is valid.
    package func isValid(_ value: JSONValue) -> Bool { Validator.isValid(value, program) }
}
