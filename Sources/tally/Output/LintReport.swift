import APITypes
import JSON
import SwiftContent

/// The lint findings and the sizes of a type's schemas.
struct LintReport {
    let typeName: String
    let findings: [SchemaFinding]
    /// The most bytes of content; nil if it is unlimited.
    let largest: (attributes: Int?, contentState: Int?)

    init(_ schemas: ImportedSchemas) {
        typeName = schemas.typeName
        findings = SchemaFinding.lint(attributes: schemas.attributes, contentState: schemas.contentState)
        largest = (SchemaLint.largestSize(of: schemas.attributes), SchemaLint.largestSize(of: schemas.contentState))
    }

    /// Leaves out an unlimited size.
    var json: JSONValue {
        var bytes = ObjectWriter()
        bytes.add("attributes", largest.attributes)
        bytes.add("content_state", largest.contentState)
        var fields = ObjectWriter()
        fields.add("type", typeName)
        fields.add("largest_bytes", bytes.json)
        fields.add("lint", findings)
        return fields.json
    }

    var text: String {
        let sizes = FactList([
            ("type", typeName),
            ("attributes", Self.words(largest.attributes)),
            ("content state", Self.words(largest.contentState)),
        ])
        return sizes.text + "\n"
            + (findings.isEmpty ? "No findings." : findings.map(\.text).joined(separator: "\n"))
    }

    private static func words(_ bytes: Int?) -> String { bytes.map { "at most \($0) bytes" } ?? "without a size limit" }
}

extension SchemaFinding {
    /// Two lines: the position and kind, then the message.
    var text: String {
        let place = pointer.tokens.isEmpty ? "as a whole" : pointer.description
        let severity = severity.map { "\($0.rawValue): " } ?? ""
        let version = schemaVersion.map { " (beside version \($0))" } ?? ""
        return "  \(severity)\(part.rawValue) \(place): \(code)\n    \(message)\(version)"
    }
}
