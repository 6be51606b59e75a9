package import JSON

/// A JSON document has wrong fields. It lists all of them, each with a JSON pointer and a message for the author.
package struct InvalidFields: Error, Sendable, Hashable, CustomStringConvertible {
    /// One wrong field.
    package struct Issue: Sendable, Hashable {
        /// The kind of error, as a stable code for programs.
        package enum Code: String, Sendable, Hashable {
            /// The field is unknown at this location.
            case unknownField = "unknown_field"
            /// A required field is absent.
            case missing
            /// The value is of another JSON type.
            case wrongType = "wrong_type"
            /// A number, a length or a time is too small or too large.
            case outOfRange = "out_of_range"
            /// The type is right, but the value is not.
            case invalidValue = "invalid_value"
        }

        /// The location of the field, from the root of the document that was read.
        package let pointer: JSONPointer
        package let code: Code
        /// A sentence for the author of the document.
        package let message: String
    }

    /// The errors in the order of reading; never empty.
    package let issues: [Issue]

    /// Requires at least one issue, because ``pointer`` and ``message`` return the first.
    init(_ first: Issue, _ others: [Issue] = []) { issues = [first] + others }

    /// The location of the first issue.
    package var pointer: JSONPointer { issues[0].pointer }

    /// The message of the first issue.
    package var message: String { issues[0].message }

    /// Safe for logs: codes only, because pointers and messages can quote the caller's input.
    package var description: String { "invalid fields: " + issues.map(\.code.rawValue).joined(separator: ", ") }
}

/// The error that ``Policy/init(json:)`` throws.
package typealias PolicyError = InvalidFields
