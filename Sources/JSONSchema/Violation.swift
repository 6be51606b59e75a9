package import JSON

/// One way in which a value violates a schema.
package struct Violation: Sendable, Hashable {
    /// The location in the value.
    package let instance: JSONPointer
    /// The location of the keyword in the schema document, after all references are followed.
    package let schema: JSONPointer
    /// The violated keyword; `false` for the schema that no value satisfies; ``tooMuchWork``.
    package let keyword: String
    /// The message for the author of the value: `2.5 is not an integer`. It can quote the value.
    package let message: String

    /// Instead of a keyword: the value takes too much work to check, so it counts as invalid.
    package static let tooMuchWork = "too_much_work"

    /// Location and message in one line: `/home_score: 2.5 is not an integer`.
    package var line: String { instance.tokens.isEmpty ? message : "\(instance): \(message)" }
}
