package import JSON

/// A document that is JSON but not what its reader knows: every wrong field, each with its place and a sentence.
package struct InvalidFields: Error, Sendable, Hashable, CustomStringConvertible {
    /// One wrong field.
    package struct Issue: Sendable, Hashable {
        /// What is wrong, in a stable word for programs.
        package enum Code: String, Sendable, Hashable {
            /// The field is not one that is known there.
            case unknownField = "unknown_field"
            /// A field that must be there is not.
            case missing
            /// The value is of another JSON type.
            case wrongType = "wrong_type"
            /// A number, a length or a time that is too small or too large.
            case outOfRange = "out_of_range"
            /// The type is right, the value is not.
            case invalidValue = "invalid_value"
        }

        /// Where it is, from the root of the document that was read.
        package let pointer: JSONPointer
        package let code: Code
        /// A sentence for the author of the document.
        package let message: String
    }

    /// What is wrong, in the order of reading; never empty.
    package let issues: [Issue]

    /// At least one issue, so that ``pointer`` and ``message`` have something to say.
    init(_ first: Issue, _ others: [Issue] = []) { issues = [first] + others }

    /// The place of the first issue.
    package var pointer: JSONPointer { issues[0].pointer }

    /// The sentence of the first issue.
    package var message: String { issues[0].message }

    /// Safe for logs: codes only, since places and sentences can quote what the caller wrote.
    package var description: String { "invalid fields: " + issues.map(\.code.rawValue).joined(separator: ", ") }
}

/// What ``Policy/init(json:)`` throws.
package typealias PolicyError = InvalidFields
