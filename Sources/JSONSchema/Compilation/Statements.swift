internal import JSON

extension SchemaCompiler {
    /// Reads a keyword that makes no rule: it names the schema, contains other schemas, or is an annotation.
    mutating func readStatement(_ context: KeywordContext) throws(SchemaError) {
        switch context.keyword {
        case "$defs":
            for (name, schema) in try context.members() { _ = try compile(schema, of: context, name) }
        case "contentSchema":
            _ = try compile(context.value, of: context)
        case "$anchor", "$dynamicAnchor":
            try readAnchor(context)
        case "$vocabulary":
            guard try context.members().allSatisfy({ $0.value.bool != nil }) else {
                throw context.invalid("'$vocabulary' must say true or false for every vocabulary.")
            }
        case Keywords.swiftType:
            if let type = context.value.string { tables.swiftTypes[context.schema] = type }
        case let keyword where Keywords.textAnnotations.contains(keyword):
            _ = try context.text()
        default:
            break
        }
    }

    private mutating func readAnchor(_ context: KeywordContext) throws(SchemaError) {
        let name = try context.anchor()
        let isDynamic = context.keyword == "$dynamicAnchor"
        let resource = context.scope.resource
        guard resources.addAnchor(name, context.schema, in: resource, isDynamic: isDynamic) else {
            throw context.invalid("The anchor '\(name)' is given twice.")
        }
    }
}
