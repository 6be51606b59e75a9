internal import JSON

extension SchemaCompiler {
    /// Reads a keyword that applies other schemas; `nil` for any other keyword.
    mutating func readApplicator(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule]? {
        switch context.keyword {
        case "allOf": [.allOf(try branches(context))]
        case "anyOf": [.anyOf(try branches(context))]
        case "oneOf": [.oneOf(try branches(context))]
        case "not": [.not(try compile(context.value, of: context))]
        case "if": [try conditional(context)]
        case "then", "else": try unconditional(context)
        case "properties", "patternProperties", "additionalProperties": try members(context)
        case "propertyNames": [.propertyNames(try compile(context.value, of: context))]
        case "dependentSchemas": [try dependentSchemas(context)]
        case "prefixItems": [.prefixItems(try branches(context))]
        case "items": [try items(context)]
        case "contains": [try contains(context)]
        case "minContains", "maxContains": try companion(context)
        default: nil
        }
    }

    private mutating func branches(_ context: KeywordContext) throws(SchemaError) -> Range<Int> {
        let items = try context.items()
        guard !items.isEmpty else { throw context.invalid("'\(context.keyword)' must list at least one schema.") }
        var ids: [SchemaNode.ID] = []
        for (index, schema) in items.enumerated() {
            ids.append(try compile(schema, of: context, String(index)))
        }
        return tables.branches.add(contentsOf: ids)
    }

    private mutating func compile(neighbour: KeywordContext?) throws(SchemaError) -> SchemaNode.ID? {
        guard let neighbour else { return nil }
        return try compile(neighbour.value, of: neighbour)
    }

    // MARK: Conditions

    private mutating func conditional(_ context: KeywordContext) throws(SchemaError) -> SchemaRule {
        .conditional(
            condition: try compile(context.value, of: context),
            then: try compile(neighbour: context.neighbour("then")),
            otherwise: try compile(neighbour: context.neighbour("else"))
        )
    }

    /// Reads `then` and `else` without `if`. They make no rule, but references may lead to their schemas.
    private mutating func unconditional(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule] {
        if context.object["if"] == nil { _ = try compile(context.value, of: context) }
        return []
    }

    // MARK: Objects

    /// Makes one rule from the three keywords of members. The first of them in the schema triggers it.
    private mutating func members(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule] {
        let present = ["properties", "patternProperties", "additionalProperties"].compactMap(context.neighbour)
        guard present.first?.keyword == context.keyword else { return [] }
        var known: [(name: String, schema: SchemaNode.ID)] = []
        var patterns: [(pattern: Int, schema: SchemaNode.ID)] = []
        var others: SchemaNode.ID?
        for keyword in present {
            switch keyword.keyword {
            case "properties":
                for (name, schema) in try keyword.members() {
                    known.append((name, try compile(schema, of: keyword, name)))
                }
            case "patternProperties":
                for (text, schema) in try keyword.members() {
                    let place = keyword.place.appending(keyword.keyword).appending(text)
                    patterns.append((try pattern(text, at: place), try compile(schema, of: keyword, text)))
                }
            default:
                others = try compile(keyword.value, of: keyword)
            }
        }
        return [.members(tables.addMembers(known: known, patterns: patterns, others: others))]
    }

    private mutating func dependentSchemas(_ context: KeywordContext) throws(SchemaError) -> SchemaRule {
        var dependencies: [(key: String, schema: SchemaNode.ID)] = []
        for (key, schema) in try context.members() {
            dependencies.append((key, try compile(schema, of: context, key)))
        }
        return .dependentSchemas(tables.dependentSchemas.add(dependencies))
    }

    // MARK: Arrays

    private mutating func items(_ context: KeywordContext) throws(SchemaError) -> SchemaRule {
        if context.value.array != nil {
            throw context.invalid("'items' must be one schema; a list of them is 'prefixItems' since 2020-12.")
        }
        let first = context.neighbour("prefixItems")?.value.array?.count ?? 0
        return .items(try compile(context.value, of: context), from: first)
    }

    private mutating func contains(_ context: KeywordContext) throws(SchemaError) -> SchemaRule {
        .contains(
            try compile(context.value, of: context),
            atLeast: try context.neighbour("minContains")?.count() ?? 1,
            atMost: try context.neighbour("maxContains")?.count() ?? .max
        )
    }

    private func companion(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule] {
        _ = try context.count()
        return []
    }
}
