internal import JSON

/// The schemas for the members of an object, as ranges of the tables: `properties`, `patternProperties` and
/// `additionalProperties` of one schema.
struct MemberSchemas: Sendable {
    /// A range of ``SchemaTables/knownMembers``.
    let known: Range<Int>
    /// A range of ``SchemaTables/patternMembers``.
    let patterns: Range<Int>
    /// The schema for all other members: unknown, and without a matching pattern.
    let others: SchemaNode.ID?
    /// An index of ``SchemaTables/memberIndexes``, if there are too many known members to scan.
    let index: Int?
}

/// The values of `enum`, as a range of ``SchemaTables/constants``.
struct Enumeration: Sendable {
    let values: Range<Int>
    /// An index of ``SchemaTables/valueIndexes``, if there are too many values to scan.
    let index: Int?
    /// The cost of reading the constants that one lookup compares: all of them, or with an index only the match.
    let weight: Int

    /// The cost of looking up a value.
    func effort(for value: JSONValue) -> Int {
        weight + value.fullWeight * (index == nil ? values.count : 1)
    }
}

extension SchemaTables {
    /// Above this number of names or values, lookups use an index instead of a scan.
    private static let indexThreshold = 12

    /// Adds the schemas of members and returns their index.
    mutating func addMembers(
        known: [(name: String, schema: SchemaNode.ID)],
        patterns: [(pattern: Int, schema: SchemaNode.ID)],
        others: SchemaNode.ID?
    ) -> Int {
        var index: Int?
        if known.count > Self.indexThreshold {
            let pairs = known.map { (ExactText($0.name), $0.schema) }
            index = memberIndexes.add(Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
        }
        return members.add(
            MemberSchemas(
                known: knownMembers.add(contentsOf: known),
                patterns: patternMembers.add(contentsOf: patterns),
                others: others,
                index: index
            )
        )
    }

    /// Adds the values of an enumeration and returns its index.
    mutating func addEnumeration(_ values: [JSONValue]) -> Int {
        let isIndexed = values.count > Self.indexThreshold
        let weights = values.map(\.fullWeight)
        return enumerations.add(
            Enumeration(
                values: constants.add(contentsOf: values),
                index: isIndexed ? valueIndexes.add(Set(values)) : nil,
                weight: isIndexed ? weights.max() ?? 0 : weights.reduce(0, +)
            )
        )
    }
}

/// Lookups are methods of the shared object, because copying the tables would cost more than a lookup.
extension SchemaProgram {
    /// The schema of a known name. Documents mostly have their members in the order of the schema, so `guess` is
    /// checked first.
    func schema(of name: String, in members: MemberSchemas, near guess: Int) -> SchemaNode.ID? {
        let place = members.known.lowerBound + guess
        if place < members.known.upperBound, ExactText.equal(tables.knownMembers[place].name, name) {
            return tables.knownMembers[place].schema
        }
        if let index = members.index { return tables.memberIndexes[index][ExactText(name)] }
        for place in members.known where ExactText.equal(tables.knownMembers[place].name, name) {
            return tables.knownMembers[place].schema
        }
        return nil
    }

    /// Whether a value belongs to an enumeration.
    func contains(_ value: JSONValue, in enumeration: Enumeration) -> Bool {
        if let index = enumeration.index { return tables.valueIndexes[index].contains(value) }
        for place in enumeration.values where tables.constants[place] == value { return true }
        return false
    }
}
