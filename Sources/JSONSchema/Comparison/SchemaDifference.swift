package import JSON

/// One way in which a schema allows other values than the schema before it.
package struct SchemaDifference: Sendable, Hashable {
    /// What has changed, as a code for programs.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The two schemas have no allowed value in common.
        case typeChanged = "type_changed"
        case typeNarrowed = "type_narrowed"
        case typeWidened = "type_widened"
        case requiredAdded = "required_added"
        case requiredRemoved = "required_removed"
        case propertyAdded = "property_added"
        case propertyRemoved = "property_removed"
        case enumNarrowed = "enum_narrowed"
        case enumWidened = "enum_widened"
        /// Numbers, lengths and counts.
        case rangeNarrowed = "range_narrowed"
        case rangeWidened = "range_widened"
        case patternNarrowed = "pattern_narrowed"
        case patternWidened = "pattern_widened"
        /// The comparison cannot decide; that takes more than a comparison.
        case incomparable = "cannot_be_compared"
    }

    /// The sides that a difference breaks.
    package struct Sides: OptionSet, Sendable, Hashable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Content that satisfied the earlier schema may not satisfy the new one.
        package static let earlierContent = Sides(rawValue: 1)
        /// Content that satisfies the new schema may violate the earlier one. Then earlier readers cannot decode it.
        package static let earlierReaders = Sides(rawValue: 2)
    }

    /// A pointer into the new schema document: the difference itself, or the schema that lacks something.
    package let pointer: JSONPointer
    package let kind: Kind
    /// A message for the author of the schemas. It quotes the schemas, never content.
    package let message: String

    /// The sides that this difference breaks; empty if they are unknown.
    package var breaks: Sides {
        switch kind {
        case .typeChanged: [.earlierContent, .earlierReaders]
        case .typeNarrowed, .requiredAdded, .propertyRemoved, .enumNarrowed, .rangeNarrowed, .patternNarrowed:
            .earlierContent
        case .typeWidened, .requiredRemoved, .propertyAdded, .enumWidened, .rangeWidened, .patternWidened:
            .earlierReaders
        case .incomparable: []
        }
    }
}
