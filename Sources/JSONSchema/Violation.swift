package import JSON

/// One way in which a value breaks a schema.
package struct Violation: Sendable, Hashable {
    /// The place in the value.
    package let instance: JSONPointer
    /// The place of the keyword in the schema document, behind all references.
    package let schema: JSONPointer
    /// The keyword that is not satisfied; `false` for the schema that nothing satisfies.
    package let keyword: String
    /// What is wrong, for the author of the value: `2.5 is not an integer`. It can quote the value.
    package let message: String

    /// Place and message in one line: `/home_score: 2.5 is not an integer`.
    package var line: String { instance.tokens.isEmpty ? message : "\(instance): \(message)" }
}
