internal import JSON

/// Checks that applying a schema to one value ends. No schema may lead back to itself without a step into the value.
/// The longest chain without such a step is bounded, and so is the depth of validation.
struct ProgressCheck {
    /// The maximum length of a chain of schemas that apply to the same value.
    static let maximumDepth = 32

    private enum Mark {
        case unseen, onTheWay
        /// The longest chain from here.
        case done(Int)
    }

    private let tables: SchemaTables
    private var marks: [Mark]

    init(tables: SchemaTables) {
        self.tables = tables
        marks = Array(repeating: .unseen, count: tables.nodes.count)
    }

    mutating func run() throws(SchemaError) {
        for id in tables.nodes.indices { _ = try depth(of: id, after: 0) }
    }

    /// The length of the longest chain from here. `steps` counts the chain so far, so the recursion ends at the limit.
    private mutating func depth(of id: SchemaNode.ID, after steps: Int) throws(SchemaError) -> Int {
        switch marks[id] {
        case .done(let depth):
            guard steps + depth <= Self.maximumDepth else { throw tooComplex(id) }
            return depth
        case .onTheWay:
            let message =
                "This schema leads back to itself without a step into the value, so checking it would never end."
            throw SchemaError(code: .endlessReference, place: tables.places[id], message: message)
        case .unseen:
            guard steps < Self.maximumDepth else { throw tooComplex(id) }
            marks[id] = .onTheWay
            var longest = 0
            for next in tables.appliedInPlace(by: id) { longest = max(longest, try depth(of: next, after: steps + 1)) }
            marks[id] = .done(longest + 1)
            return longest + 1
        }
    }

    private func tooComplex(_ id: SchemaNode.ID) -> SchemaError {
        let message =
            "More than \(Self.maximumDepth) schemas would be applied to one place of a value, one inside the other."
        return SchemaError(code: .tooComplex, place: tables.places[id], message: message)
    }
}

extension SchemaTables {
    /// The schemas that a schema applies to the same value, not to a part of it.
    func appliedInPlace(by id: SchemaNode.ID) -> [SchemaNode.ID] {
        var schemas: [SchemaNode.ID] = []
        for rule in rules[nodes[id].rules] {
            switch rule {
            case .reference(let reference): schemas.append(references[reference])
            case .dynamicReference(let reference):
                schemas.append(dynamicReferences[reference].fallback)
                schemas += dynamicReferences[reference].targets.values
            case .allOf(let range), .anyOf(let range), .oneOf(let range): schemas += branches[range]
            case .not(let schema): schemas.append(schema)
            case .conditional(let condition, let then, let otherwise):
                schemas += [condition, then, otherwise].compactMap(\.self)
            case .dependentSchemas(let dependencies): schemas += dependentSchemas[dependencies].map(\.schema)
            default: break
            }
        }
        return schemas
    }
}
