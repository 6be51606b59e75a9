/// One compiled schema of a document. The validator applies it to values.
struct SchemaNode: Sendable {
    /// Index in the table of all nodes. References between schemas are indexes, so schemas can be recursive.
    typealias ID = Int

    enum Verdict: Sendable {
        /// `true` or `{}`.
        case anything
        /// `false`.
        case nothing
        /// All rules of ``SchemaNode/rules`` must be satisfied.
        case rules
    }

    var verdict: Verdict
    /// The range of its rules in the table of all rules.
    var rules: Range<Int> = 0..<0
    /// The schema resource that contains it: the part between one `$id` and the next.
    let resource: Int
    /// Whether `unevaluatedItems` or `unevaluatedProperties` is among its rules.
    var wantsEvaluated = false
}

/// One keyword, or several that depend on each other. Larger data is in the tables of ``SchemaTables``, so a rule is a
/// few words without reference counting.
enum SchemaRule: Sendable {
    case types(TypeSet)
    case enumeration(Int)
    case constant(Int)

    case minimum(Int)
    case exclusiveMinimum(Int)
    case maximum(Int)
    case exclusiveMaximum(Int)
    case multipleOf(Int)

    case minLength(Int)
    case maxLength(Int)
    case pattern(Int)
    case format(Format)

    case minItems(Int)
    case maxItems(Int)
    case uniqueItems
    /// The schemas of the first items: a range of ``SchemaTables/branches``.
    case prefixItems(Range<Int>)
    /// `items`, for the items after `prefixItems`.
    case items(SchemaNode.ID, from: Int)
    case contains(SchemaNode.ID, atLeast: Int, atMost: Int)
    case unevaluatedItems(SchemaNode.ID)

    case minProperties(Int)
    case maxProperties(Int)
    case required(Range<Int>)
    case dependentRequired(Int)
    case dependentSchemas(Int)
    case propertyNames(SchemaNode.ID)
    /// `properties`, `patternProperties` and `additionalProperties`.
    case members(Int)
    case unevaluatedProperties(SchemaNode.ID)

    case reference(Int)
    case dynamicReference(Int)
    /// The alternatives are a range of ``SchemaTables/branches``.
    case allOf(Range<Int>)
    case anyOf(Range<Int>)
    case oneOf(Range<Int>)
    case not(SchemaNode.ID)
    case conditional(condition: SchemaNode.ID, then: SchemaNode.ID?, otherwise: SchemaNode.ID?)
}
