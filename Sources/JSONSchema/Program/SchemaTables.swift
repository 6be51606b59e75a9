internal import JSON

/// A compiled schema: flat tables, whose rows speak of each other by position.
struct SchemaTables: Sendable {
    /// The first is the document's own schema.
    var nodes: [SchemaNode] = []
    var rules: [SchemaRule] = []
    /// Where every node stands, for messages.
    var places: [SchemaPlace] = []

    /// The schemas of `allOf`, `anyOf`, `oneOf` and `prefixItems`.
    var branches: [SchemaNode.ID] = []
    /// The names of `required`.
    var names: [String] = []
    /// The values of `const` and `enum`.
    var constants: [JSONValue] = []
    var enumerations: [Enumeration] = []
    var valueIndexes: [Set<JSONValue>] = []
    /// The limits of numbers.
    var bounds: [NumberBound] = []
    var divisors: [DecimalDivisor] = []
    var patterns: [Pattern] = []
    var members: [MemberSchemas] = []
    var knownMembers: [(name: String, schema: SchemaNode.ID)] = []
    var patternMembers: [(pattern: Int, schema: SchemaNode.ID)] = []
    var memberIndexes: [[ExactText: SchemaNode.ID]] = []
    var dependentNames: [[(key: String, needed: [String])]] = []
    var dependentSchemas: [[(key: String, schema: SchemaNode.ID)]] = []
    /// The targets of `$ref`.
    var references: [SchemaNode.ID] = []
    var dynamicReferences: [DynamicReference] = []
    /// The Swift types that the author named with `x-swift-type`, by node.
    var swiftTypes: [SchemaNode.ID: String] = [:]
}

/// The target of a `$dynamicRef`: the schema of that anchor in the outermost resource on the way that has one.
struct DynamicReference: Sendable {
    /// Where it leads if no resource on the way has the anchor.
    var fallback: SchemaNode.ID
    /// The schema of the anchor in every resource that has one; empty if it leads to no dynamic anchor.
    var targets: [Int: SchemaNode.ID]
}

/// What validation reads, shared by all who validate.
final class SchemaProgram: Sendable {
    let tables: SchemaTables
    /// Whether the way on which a schema was reached matters.
    let hasDynamicReferences: Bool

    init(_ tables: SchemaTables) {
        self.tables = tables
        hasDynamicReferences = !tables.dynamicReferences.isEmpty
    }
}
