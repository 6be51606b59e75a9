internal import JSON

/// Which schemas apply to the members of an object: `properties`, `patternProperties` and `additionalProperties` of one
/// schema, as ranges of the tables.
struct MemberSchemas: Sendable {
    /// Of ``SchemaTables/knownMembers``.
    let known: Range<Int>
    /// Of ``SchemaTables/patternMembers``.
    let patterns: Range<Int>
    /// For members that are neither known nor fit a pattern.
    let others: SchemaNode.ID?
    /// Of ``SchemaTables/memberIndexes``, if the known ones are too many to be looked at one after the other.
    let index: Int?
}

/// The values of `enum`, as a range of ``SchemaTables/constants``.
struct Enumeration: Sendable {
    let values: Range<Int>
    /// Of ``SchemaTables/valueIndexes``, if they are too many to be compared one after the other.
    let index: Int?
    /// What reading those costs that one look-up compares with: all of them, or in an index the one that is found.
    let weight: Int

    /// What looking a value up costs.
    func effort(for value: JSONValue) -> Int {
        weight + value.fullWeight * (index == nil ? values.count : 1)
    }
}

extension SchemaTables {
    /// Up to that many names or values are looked at one after the other.
    private static let indexThreshold = 12

    /// Adds the schemas of members; the position.
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

    /// Adds the values of an enumeration; the position.
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

/// Look-ups are asked of the shared object: a copy of the tables would cost more than they do.
extension SchemaProgram {
    /// The schema of a known name. Documents mostly name their members in the order of the schema, so the look-up
    /// begins at a guess.
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

    /// Whether a value is one of an enumeration.
    func contains(_ value: JSONValue, in enumeration: Enumeration) -> Bool {
        if let index = enumeration.index { return tables.valueIndexes[index].contains(value) }
        for place in enumeration.values where tables.constants[place] == value { return true }
        return false
    }
}
