package import JSON

/// Compares two versions of a schema: which content for one version the other may refuse.
///
/// It understands the keywords that importers write and that people mostly use. For all other keywords it only checks
/// equality, and reports a difference as incomparable. So it reports every difference, but some do not affect the real
/// content. It is pure, and its cost is bounded for all documents.
package struct SchemaComparison {
    /// Enough for documents of 256 KB. The rest of a larger comparison is reported as incomparable.
    private static let maximumSteps = 20_000
    /// A schema with a long list of values or names counts as several steps, because it may be compared with many
    /// others.
    private static let membersPerStep = 16
    private static let maximumDifferences = 200
    /// Chains of references can be long, and each step uses stack.
    private static let maximumDepth = 128

    private let earlier: ComparedDocument
    private let later: ComparedDocument
    /// Whether the documents differ anywhere. A reference that is not followed may lead to any schema, so any
    /// difference may matter to it.
    private let differsAnywhere: Bool
    private(set) var differences: [SchemaDifference] = []
    private var seen: Set<[JSONPointer]> = []
    private var steps = 0
    private var depth = 0

    /// The differences of `later` from `earlier`. Both documents must compile.
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

    /// Compares the schemas at two locations. Each pair is compared once only, because schemas can be recursive.
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

    /// Compares references that have other keywords beside them. The other keywords are compared like those of any
    /// schema.
    ///
    /// - Returns: Whether anything remains to be compared.
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

    /// Keywords that the other functions compare.
    private static let compared: Set<String> = [
        "$ref", "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
        "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "properties", "required",
        "additionalProperties", "items", "prefixItems",
    ]

    /// Compares all other keywords: they must be equal, or are incomparable. References inside them must lead to equal
    /// schemas.
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
    /// The references anywhere in a schema; `nil` for a dynamic one, whose target depends on the path to the value.
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
