internal import JSON

extension SchemaNode.Rule {
    /// Reads a keyword that says something about the value itself; `nil` if it is not one of these.
    static func simple(_ context: KeywordContext) throws(SchemaError) -> [SchemaNode.Rule]? {
        switch context.keyword {
        case "type": [.types(try Self.types(context))]
        case "enum": [.enumeration(try context.items())]
        case "const": [.constant(context.value)]
        case "minimum": [.minimum(try context.number())]
        case "exclusiveMinimum": [.exclusiveMinimum(try context.number())]
        case "maximum": [.maximum(try context.number())]
        case "exclusiveMaximum": [.exclusiveMaximum(try context.number())]
        case "multipleOf": [.multipleOf(try Self.divisor(context))]
        case "minLength": [.minLength(try context.count())]
        case "maxLength": [.maxLength(try context.count())]
        case "minItems": [.minItems(try context.count())]
        case "maxItems": [.maxItems(try context.count())]
        case "uniqueItems": try context.flag() ? [.uniqueItems] : []
        case "minProperties": [.minProperties(try context.count())]
        case "maxProperties": [.maxProperties(try context.count())]
        case "required": [.required(try context.texts())]
        case "dependentRequired": [.dependentRequired(try Self.dependencies(context))]
        default: nil
        }
    }

    private static func types(_ context: KeywordContext) throws(SchemaError) -> TypeSet {
        let names = context.value.string.map { [$0] } ?? context.value.array?.compactMap(\.string) ?? []
        let isComplete = context.value.array.map { $0.count == names.count } ?? true
        var types: TypeSet = []
        for name in names {
            guard let type = TypeSet(name: name) else { throw context.invalid("There is no type '\(name)'.") }
            types.insert(type)
        }
        guard isComplete, !types.isEmpty else {
            throw context.invalid("'type' must be a type's name or a list of them.")
        }
        return types
    }

    private static func divisor(_ context: KeywordContext) throws(SchemaError) -> DecimalDivisor {
        let number = try context.number()
        guard number > 0 else { throw context.invalid("'multipleOf' must be above 0.") }
        guard let divisor = DecimalDivisor(number) else {
            throw context.invalid("'multipleOf' may have at most \(DecimalDivisor.maximumDigits) significant digits.")
        }
        return divisor
    }

    private static func dependencies(
        _ context: KeywordContext
    ) throws(SchemaError) -> [(key: String, needed: [String])] {
        var dependencies: [(key: String, needed: [String])] = []
        for (key, value) in try context.members() {
            dependencies.append((key, try context.texts(value)))
        }
        return dependencies
    }
}
