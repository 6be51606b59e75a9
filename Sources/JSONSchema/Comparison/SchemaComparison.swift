package import JSON

/// Compares two versions of a schema: what content made for one of them the other one may refuse.
///
/// It knows the keywords that importers write and people mostly use. Of everything else it only knows whether it is the
/// same; where it is not, it says that it cannot compare. So no difference is passed over in silence, but one that is
/// reported need not matter for the content that is really sent. Pure, and bounded whatever the documents.
package struct SchemaComparison {
    /// Documents of 256 KB do not need more; what lies behind is reported as incomparable.
    private static let maximumSteps = 20_000
    /// A schema with a long list, of values or of names, counts as several steps: one may be compared with many.
    private static let membersPerStep = 16
    private static let maximumDifferences = 200
    /// References can lead on and on; each step costs stack.
    private static let maximumDepth = 128

    private let earlier: ComparedDocument
    private let later: ComparedDocument
    /// What a reference leads to that is not followed may be any schema, so that a difference anywhere may matter to
    /// it.
    private let differsAnywhere: Bool
    private(set) var differences: [SchemaDifference] = []
    private var seen: Set<[JSONPointer]> = []
    private var steps = 0
    private var depth = 0

    /// How `later` differs from `earlier`; both are documents that compile.
    package static func differences(from earlier: JSONValue, to later: JSONValue) -> [SchemaDifference] {
        guard earlier != later else { return [] }
        var comparison = SchemaComparison(earlier: earlier, later: later)
        comparison.compare(JSONPointer(), JSONPointer())
        return comparison.differences
    }

    private init(earlier: JSONValue, later: JSONValue) {
        self.earlier = ComparedDocument(earlier)
        self.later = ComparedDocument(later)
        differsAnywhere = earlier.withoutAnnotations != later.withoutAnnotations
    }

    mutating func report(_ kind: SchemaDifference.Kind, _ pointer: JSONPointer, _ message: String) {
        guard differences.count < Self.maximumDifferences else { return }
        let difference = SchemaDifference(pointer: pointer, kind: kind, message: message)
        if !differences.contains(difference) { differences.append(difference) }
    }

    /// Compares the schemas at two places. A pair that is being compared, or was, is not compared again: schemas
    /// recurse.
    mutating func compare(_ old: JSONPointer, _ new: JSONPointer) {
        guard let before = SchemaShape.find(old, in: earlier), let after = SchemaShape.find(new, in: later) else {
            return reportUnfollowed(new)
        }
        guard seen.insert([before.pointer, after.pointer]).inserted else { return }
        steps += 1 + (before.breadth + after.breadth) / Self.membersPerStep
        depth += 1
        defer { depth -= 1 }
        guard steps <= Self.maximumSteps, depth <= Self.maximumDepth else {
            reportIncomparable(new, "what comes here, in schemas as large as these,")
            return
        }
        compare(SchemaShape(before), SchemaShape(after))
    }

    private mutating func compare(_ before: SchemaShape, _ after: SchemaShape) {
        guard compareReferences(before, after) else { return }
        compareNull(before, after)
        guard compareTypes(before, after) else { return }
        compareValues(before, after)
        compareBounds(before, after)
        comparePatterns(before, after)
        compareMembers(before, after)
        compareItems(before, after)
        compareRest(before, after)
    }

    /// Compares what is referred to beside other keywords, which are compared like those of any schema.
    ///
    /// - Returns: Whether anything is left to be compared.
    private mutating func compareReferences(_ before: SchemaShape, _ after: SchemaShape) -> Bool {
        guard before.keywords["$dynamicRef"] == nil, after.keywords["$dynamicRef"] == nil else {
            reportUnfollowed(after.pointer)
            return false
        }
        guard before.keywords["$ref"] != nil || after.keywords["$ref"] != nil else { return true }
        guard let old = before.target, let new = after.target, before.isNullable == after.isNullable else {
            reportUnfollowed(after.pointer)
            return false
        }
        compare(old, new)
        return true
    }

    private mutating func reportUnfollowed(_ pointer: JSONPointer) {
        if differsAnywhere { reportIncomparable(pointer, "what this refers to, or what is around it,") }
    }

    private mutating func reportIncomparable(_ pointer: JSONPointer, _ what: String) {
        report(.incomparable, pointer, "\(what) is different and cannot be compared")
    }

    // MARK: Everything else

    /// Keywords that the other functions see to.
    private static let compared: Set<String> = [
        "$ref", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
        "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "properties", "required",
        "additionalProperties", "items", "prefixItems",
    ]

    /// What is no other function's: the same, or not comparable. References within must lead to what is the same, too.
    private mutating func compareRest(_ before: SchemaShape, _ after: SchemaShape) {
        for keyword in Set(before.keywords.keys).union(after.keywords.keys).sorted() {
            guard !Self.compared.contains(keyword), !SchemaShape.isAnnotation(keyword) else { continue }
            if keyword == "oneOf", before.isEnumBeside(after) { continue }
            let (old, new) = (before.keywords[keyword], after.keywords[keyword])
            guard old == new, let new else {
                reportIncomparable(after.pointer.appending(keyword), "'\(keyword)'")
                continue
            }
            for reference in new.references {
                if let reference, let target = later.target(of: reference), earlier.target(of: reference) != nil {
                    compare(target, target)
                } else {
                    reportUnfollowed(after.pointer.appending(keyword))
                }
            }
        }
    }
}

extension JSONValue {
    /// The references anywhere in a schema; nil for those that lead to wherever a value comes from.
    fileprivate var references: [String?] {
        switch self {
        case .object(let object):
            object.entries.flatMap { key, value -> [String?] in
                switch key {
                case "$ref": [value.string]
                case "$dynamicRef": [nil]
                default: value.references
                }
            }
        case .array(let items): items.flatMap(\.references)
        case .null, .bool, .number, .string: []
        }
    }
}
