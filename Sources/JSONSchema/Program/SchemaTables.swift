internal import JSON

/// A compiled schema: flat tables whose rows refer to each other by index.
struct SchemaTables: Sendable {
    /// The first is the document's own schema.
    var nodes: [SchemaNode] = []
    var rules: [SchemaRule] = []
    /// The location of every node, for messages.
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

/// The target of a `$dynamicRef`: the schema of that anchor in the outermost resource on the path that has one.
struct DynamicReference: Sendable {
    /// The target if no resource on the path has the anchor.
    var fallback: SchemaNode.ID
    /// The schema of the anchor in every resource that has one; empty if the reference does not name a dynamic anchor.
    var targets: [Int: SchemaNode.ID]
}

/// The compiled data that all validators of a schema share.
final class SchemaProgram: Sendable {
    let tables: SchemaTables
    /// Whether the path to a schema can change its meaning.
    let hasDynamicReferences: Bool

    init(_ tables: SchemaTables) {
        self.tables = tables
        hasDynamicReferences = !tables.dynamicReferences.isEmpty
    }
}
