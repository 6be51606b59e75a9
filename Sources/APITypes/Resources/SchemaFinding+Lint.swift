package import JSON
package import SwiftContent

extension SchemaFinding {
    /// A lint finding about one of the two schemas, or about its content.
    package init(_ finding: LintFinding, in part: SchemaPart) {
        self.init(part: part, pointer: finding.pointer, code: finding.code.rawValue, message: finding.message)
    }

    /// The lint findings of a type's two schemas.
    package static func lint(attributes: JSONValue, contentState: JSONValue) -> [SchemaFinding] {
        let together = SchemaLint.tooLarge(attributes: attributes, contentState: contentState)
        return SchemaLint.findings(in: attributes).map { SchemaFinding($0, in: .attributes) }
            + SchemaLint.findings(in: contentState).map { SchemaFinding($0, in: .contentState) }
            + (together.map { [SchemaFinding($0, in: .contentState)] } ?? [])
    }
}
