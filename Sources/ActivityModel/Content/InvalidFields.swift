package import JSON

/// A document that is JSON but not what its reader knows: every wrong field, each with its place and a sentence.
package struct InvalidFields: Error, Sendable, Hashable, CustomStringConvertible {
    /// One wrong field.
    package struct Issue: Sendable, Hashable {
        /// Where it is, from the root of the document that was read.
        package let pointer: JSONPointer
        /// A stable word: `unknown_field`, `missing`, `wrong_type`, `out_of_range` or `invalid_value`.
        package let code: String
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
    package var description: String { "invalid fields: " + issues.map(\.code).joined(separator: ", ") }
}

/// What ``Policy/init(json:)`` throws.
package typealias PolicyError = InvalidFields
