import APITypes
package import JSON
package import JSONSchema
import SwiftContent

/// The schema of attributes or of a content state, with the Swift types that it names.
package struct ContentSchema: Sendable {
    let document: JSONValue
    private let schema: CompiledSchema
    private let types: TypedContent

    /// Reads a schema document.
    package init(_ document: JSONValue) throws(SchemaError) {
        self.document = document
        schema = try CompiledSchema(document)
        types = TypedContent(document)
    }

    /// The scales on which numbers in it count times.
    var timeScales: Set<TypedContent.TimeScale> { types.timeScales }

    /// Doubtful parts of content that a phone may decode all the same.
    func lint(_ content: JSONValue) -> [LintFinding] { ContentLint.findings(in: content, document) }

    /// Content as it goes to the phone, with times in place of texts in fields that are declared as `Date`. Also
    /// returns everything in it that the phone could not decode.
    func settle(
        _ content: JSONValue,
        by author: TypedContent.Author = .caller,
        version: Int
    ) -> (content: JSONValue, errors: [FieldError]) {
        let (settled, findings) = types.settled(content, by: author) { text in
            Instant(text).map { .init(microseconds: $0.microseconds, text: $0.description) }
        }
        let all = schema.validate(settled)
        if findings.isEmpty, all.isEmpty { return (settled, []) }
        // If a type reports a place, a finding of the schema for that place adds nothing.
        let places = Set(findings.map(\.instance))
        let violations = all.filter { !places.contains($0.instance) }
        let errors =
            findings.map { finding in
                FieldError(
                    pointer: finding.instance,
                    code: finding.keyword,
                    message: finding.message,
                    schemaVersion: version
                )
            }
            + violations.map { violation in
                FieldError(
                    pointer: violation.instance,
                    code: violation.keyword,
                    message: violation.message,
                    schemaVersion: version
                )
            }
        return (settled, errors)
    }
}
