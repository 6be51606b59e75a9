import APITypes
import JSON
import JSONSchema
import SwiftContent

/// The differences between two versions of a type.
struct DiffReport {
    private let differences: [(part: SchemaPart, difference: SchemaDifference)]
    private let isSame: Bool

    init(from earlier: ImportedSchemas, to later: ImportedSchemas) {
        isSame = earlier.attributes == later.attributes && earlier.contentState == later.contentState
        differences =
            SchemaComparison.differences(from: earlier.attributes, to: later.attributes).map { (.attributes, $0) }
            + SchemaComparison.differences(from: earlier.contentState, to: later.contentState).map {
                (.contentState, $0)
            }
    }

    /// Whether a difference breaks something, or may do so.
    var breaksSomething: Bool {
        differences.contains { !$0.difference.breaks.isEmpty || $0.difference.kind == .incomparable }
    }

    var json: JSONValue {
        let items = differences.map { part, difference -> JSONValue in
            let breaks = Self.sides.filter { difference.breaks.contains($0.side) }.map { JSONValue.string($0.code) }
            var fields = ObjectWriter()
            fields.add("schema", part.rawValue)
            fields.add("pointer", difference.pointer.description)
            fields.add("code", difference.kind.rawValue)
            fields.add("message", difference.message)
            fields.add("breaks", JSONValue.array(breaks))
            return fields.json
        }
        return ["differences": .array(items)]
    }

    var text: String {
        if isSame { return "Both versions are the same." }
        if differences.isEmpty { return "Nothing breaks. Apps with either version read the content of the other." }
        return differences.map { part, difference in
            let finding = SchemaFinding(
                part: part,
                pointer: difference.pointer,
                code: difference.kind.rawValue,
                message: difference.message
            )
            let breaks = Self.sides.filter { difference.breaks.contains($0.side) }.map(\.words)
            return breaks.isEmpty ? finding.text : finding.text + "\n    breaks " + breaks.joined(separator: " and ")
        }
        .joined(separator: "\n")
    }

    private static let sides: [(side: SchemaDifference.Sides, code: String, words: String)] = [
        (.earlierContent, "earlier_content", "content made for the earlier version"),
        (.earlierReaders, "earlier_readers", "apps with the earlier version"),
    ]
}
