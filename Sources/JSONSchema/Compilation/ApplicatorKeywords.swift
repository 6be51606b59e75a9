internal import JSON

extension SchemaCompiler {
    /// Reads a keyword that applies other schemas; `nil` if it is not one of these.
    mutating func readApplicator(_ context: KeywordContext) throws(SchemaError) -> [SchemaNode.Rule]? {
        switch context.keyword {
        case "allOf": [.allOf(try schemas(context))]
        case "anyOf": [.anyOf(try schemas(context))]
        case "oneOf": [.oneOf(try schemas(context))]
        case "not": [.not(try compile(context.value, at: context.place))]
        case "if": [try conditional(context)]
        case "then", "else": try unconditional(context)
        case "properties": [try members(context)]
        case "additionalProperties": try additionalMembers(context)
        case "propertyNames": [.propertyNames(try compile(context.value, at: context.place))]
        case "dependentSchemas": [try dependentSchemas(context)]
        case "prefixItems": [.prefixItems(try schemas(context))]
        case "items": [try items(context)]
        case "contains": [try contains(context)]
        case "minContains", "maxContains": try companion(context)
        default: nil
        }
    }

    private mutating func schemas(_ context: KeywordContext) throws(SchemaError) -> [SchemaNode.ID] {
        let items = try context.items()
        guard !items.isEmpty else { throw context.invalid("'\(context.keyword)' must list at least one schema.") }
        var ids: [SchemaNode.ID] = []
        for (index, schema) in items.enumerated() {
            ids.append(try compile(schema, at: context.place.appending(index: index)))
        }
        return ids
    }

    private mutating func neighbour(_ name: String, _ context: KeywordContext) throws(SchemaError) -> SchemaNode.ID? {
        guard let schema = context.object[name] else { return nil }
        return try compile(schema, at: context.schema.appending(name))
    }

    private mutating func conditional(_ context: KeywordContext) throws(SchemaError) -> SchemaNode.Rule {
        .conditional(
            condition: try compile(context.value, at: context.place),
            then: try neighbour("then", context),
            otherwise: try neighbour("else", context)
        )
    }

    /// `then` and `else` are read with their `if`; without one they make no rule, but are still schemas, to which references may lead.
    private mutating func unconditional(_ context: KeywordContext) throws(SchemaError) -> [SchemaNode.Rule] {
        if context.object["if"] == nil { _ = try compile(context.value, at: context.place) }
        return []
    }

    private mutating func members(_ context: KeywordContext) throws(SchemaError) -> SchemaNode.Rule {
        var known: [ExactText: SchemaNode.ID] = [:]
        for (name, schema) in try context.members() {
            known[ExactText(name)] = try compile(schema, at: context.place.appending(name))
        }
        return .members(known: known, others: try neighbour("additionalProperties", context))
    }

    private mutating func additionalMembers(_ context: KeywordContext) throws(SchemaError) -> [SchemaNode.Rule] {
        guard context.object["properties"] == nil else { return [] }
        return [.members(known: [:], others: try compile(context.value, at: context.place))]
    }

    private mutating func dependentSchemas(_ context: KeywordContext) throws(SchemaError) -> SchemaNode.Rule {
        var dependencies: [(key: String, schema: SchemaNode.ID)] = []
        for (key, schema) in try context.members() {
            dependencies.append((key, try compile(schema, at: context.place.appending(key))))
        }
        return .dependentSchemas(dependencies)
    }

    private mutating func items(_ context: KeywordContext) throws(SchemaError) -> SchemaNode.Rule {
        if context.value.array != nil {
            throw context.invalid("'items' must be one schema; a list of them is 'prefixItems' since 2020-12.")
        }
        let first = context.object["prefixItems"]?.array?.count ?? 0
        return .items(try compile(context.value, at: context.place), from: first)
    }

    private mutating func contains(_ context: KeywordContext) throws(SchemaError) -> SchemaNode.Rule {
        .contains(
            try compile(context.value, at: context.place),
            atLeast: try context.count(of: "minContains") ?? 1,
            atMost: try context.count(of: "maxContains")
        )
    }

    private func companion(_ context: KeywordContext) throws(SchemaError) -> [SchemaNode.Rule] {
        _ = try context.count()
        return []
    }
}
