internal import JSON

/// Which schemas apply to the members of an object.
struct MemberSchemas: Sendable {
    /// Up to that many names are looked for one after the other.
    private static let indexThreshold = 12

    private let known: [(name: String, schema: SchemaNode.ID)]
    private let places: [ExactText: SchemaNode.ID]
    /// By position in the table of patterns.
    let patterns: [(pattern: Int, schema: SchemaNode.ID)]
    /// For members that are neither known nor fit a pattern.
    let others: SchemaNode.ID?

    init(
        known: [(name: String, schema: SchemaNode.ID)],
        patterns: [(pattern: Int, schema: SchemaNode.ID)],
        others: SchemaNode.ID?
    ) {
        self.known = known
        self.patterns = patterns
        self.others = others
        let pairs = known.count > Self.indexThreshold ? known.map { (ExactText($0.name), $0.schema) } : []
        places = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// Every schema that can apply.
    var schemas: [SchemaNode.ID] { known.map(\.schema) + patterns.map(\.schema) + (others.map { [$0] } ?? []) }

    /// The schema of a known name. Documents mostly name their members in the order of the schema, so the look-up
    /// begins at a guess.
    func schema(of name: String, near guess: Int) -> SchemaNode.ID? {
        if guess < known.count, ExactText.equal(known[guess].name, name) { return known[guess].schema }
        if !places.isEmpty { return places[ExactText(name)] }
        for (key, schema) in known where ExactText.equal(key, name) { return schema }
        return nil
    }
}
