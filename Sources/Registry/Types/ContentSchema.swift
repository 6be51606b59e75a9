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
        let found = findings.map { ($0.instance, $0.keyword, $0.message) }
        let violations = all.filter { !places.contains($0.instance) }.map { ($0.instance, $0.keyword, $0.message) }
        let errors = (found + violations).map {
            FieldError(pointer: $0, code: $1, message: $2, schemaVersion: version)
        }
        return (settled, errors)
    }
}
