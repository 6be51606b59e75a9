internal import JSON

extension SchemaCompiler {
    /// Reads a keyword that constrains the value itself; `nil` for any other keyword.
    mutating func readValueKeyword(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule]? {
        switch context.keyword {
        case "type": [.types(try Self.types(context))]
        case "enum": [.enumeration(tables.addEnumeration(try context.items()))]
        case "const": [.constant(tables.constants.add(context.value))]
        case "minimum": [.minimum(try bound(context))]
        case "exclusiveMinimum": [.exclusiveMinimum(try bound(context))]
        case "maximum": [.maximum(try bound(context))]
        case "exclusiveMaximum": [.exclusiveMaximum(try bound(context))]
        case "multipleOf": [.multipleOf(tables.divisors.add(try Self.divisor(context)))]
        case "minLength": [.minLength(try context.count())]
        case "maxLength": [.maxLength(try context.count())]
        case "pattern": [.pattern(try pattern(try context.text(), at: context.place.appending("pattern")))]
        case "format": try format(context)
        case "minItems": [.minItems(try context.count())]
        case "maxItems": [.maxItems(try context.count())]
        case "uniqueItems": try context.flag() ? [.uniqueItems] : []
        case "minProperties": [.minProperties(try context.count())]
        case "maxProperties": [.maxProperties(try context.count())]
        case "required": [.required(tables.names.add(contentsOf: try context.texts()))]
        case "dependentRequired": [.dependentRequired(tables.dependentNames.add(try Self.dependencies(context)))]
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

    private mutating func bound(_ context: KeywordContext) throws(SchemaError) -> Int {
        tables.bounds.add(NumberBound(try context.number()))
    }

    private static func divisor(_ context: KeywordContext) throws(SchemaError) -> DecimalDivisor {
        let number = try context.number()
        guard number > 0 else { throw context.invalid("'multipleOf' must be above 0.") }
        guard let divisor = DecimalDivisor(number) else {
            let message = "'multipleOf' may have at most \(DecimalDivisor.maximumDigits) significant digits."
            throw context.failure(.tooLarge, message)
        }
        return divisor
    }

    /// Adds a pattern to the table.
    mutating func pattern(_ text: String, at place: SchemaPlace) throws(SchemaError) -> Int {
        do throws(PatternError) {
            let pattern = try Pattern(text)
            patternSize += pattern.instructions.count
            guard patternSize <= Self.maximumPatternSize else {
                throw PatternError(kind: .tooLarge, message: "all patterns of the schema together are too large")
            }
            return tables.patterns.add(pattern)
        } catch {
            let code: SchemaError.Code =
                switch error.kind {
                case .syntax: .invalidKeyword
                case .unsupported: .unsupportedKeyword
                case .tooLarge: .tooLarge
                }
            let message = "This is not a pattern that can be used: \(error.message)."
            throw SchemaError(code: code, place: place, message: message)
        }
    }

    private func format(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule] {
        let name = try context.text()
        guard options.formats == .assert || context.scope.vocabularies.contains(.formatAssertion) else { return [] }
        return Format(rawValue: name).map { [.format($0)] } ?? []
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

extension Array {
    /// Appends a row to a table and returns its index.
    mutating func add(_ row: Element) -> Int {
        append(row)
        return count - 1
    }

    /// Appends rows to a table and returns their indexes.
    mutating func add(contentsOf rows: [Element]) -> Range<Int> {
        append(contentsOf: rows)
        return count - rows.count..<count
    }
}
