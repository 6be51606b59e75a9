package import JSON

/// One way in which a schema lets in other values than the one before it.
package struct SchemaDifference: Sendable, Hashable {
    /// What has changed, in a word for programs.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Nothing that was let in before is now.
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
        /// Nothing is said about it: it takes more than a comparison to know.
        case incomparable = "cannot_be_compared"
    }

    /// Who is in trouble.
    package struct Sides: OptionSet, Sendable, Hashable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Content that satisfied the earlier schema may not satisfy the new one.
        package static let earlierContent = Sides(rawValue: 1)
        /// Content that satisfies the new schema may not satisfy the earlier one, so that earlier readers cannot decode
        /// it.
        package static let earlierReaders = Sides(rawValue: 2)
    }

    /// Into the new schema document: where it differs, or the schema that lacks something.
    package let pointer: JSONPointer
    package let kind: Kind
    /// A sentence for the author of the schemas. It quotes them, never content.
    package let message: String

    /// Who is in trouble; nobody that is known of where nothing can be said.
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
