internal import JSON

/// One schema of a document, at one place in it, ready to be applied.
struct SchemaNode: Sendable {
    /// Position in the table of all nodes; references between schemas are positions, so that they can be recursive.
    typealias ID = Int

    enum Verdict: Sendable {
        /// `true` or `{}`.
        case anything
        /// `false`.
        case nothing
        /// All of these must hold.
        case rules([Rule])
    }

    let location: JSONPointer
    var verdict: Verdict

    /// One keyword, or several that only make sense together.
    enum Rule: Sendable {
        case types(TypeSet)
        case enumeration([JSONValue])
        case constant(JSONValue)

        case minimum(JSONNumber)
        case exclusiveMinimum(JSONNumber)
        case maximum(JSONNumber)
        case exclusiveMaximum(JSONNumber)
        case multipleOf(DecimalDivisor)

        case minLength(Int)
        case maxLength(Int)

        case minItems(Int)
        case maxItems(Int)
        case uniqueItems
        case prefixItems([ID])
        /// `items`, for those behind `prefixItems`.
        case items(ID, from: Int)
        case contains(ID, atLeast: Int, atMost: Int?)

        case minProperties(Int)
        case maxProperties(Int)
        case required([String])
        case dependentRequired([(key: String, needed: [String])])
        case dependentSchemas([(key: String, schema: ID)])
        case propertyNames(ID)
        /// `properties`, and `additionalProperties` for all others.
        case members(known: [ExactText: ID], others: ID?)

        case reference(ID)
        case allOf([ID])
        case anyOf([ID])
        case oneOf([ID])
        case not(ID)
        case conditional(condition: ID, then: ID?, otherwise: ID?)

        /// The schemas that it applies to the very value at hand, not to a part of it.
        var inPlace: [ID] {
            switch self {
            case .reference(let id), .not(let id): [id]
            case .allOf(let ids), .anyOf(let ids), .oneOf(let ids): ids
            case .conditional(let condition, let then, let otherwise):
                [condition] + [then, otherwise].compactMap(\.self)
            case .dependentSchemas(let members): members.map(\.schema)
            case .types, .enumeration, .constant, .minimum, .exclusiveMinimum, .maximum, .exclusiveMaximum, .multipleOf,
                .minLength, .maxLength, .minItems, .maxItems, .uniqueItems, .prefixItems, .items, .contains,
                .minProperties, .maxProperties, .required, .dependentRequired, .propertyNames, .members:
                []
            }
        }
    }

    /// The schemas that are applied to the very value at hand.
    var inPlace: [ID] {
        switch verdict {
        case .anything, .nothing: []
        case .rules(let rules): rules.flatMap(\.inPlace)
        }
    }
}
