internal import JSON
internal import SwiftContent

extension SchemaBuilder {
    /// The maximum number of entries of a dictionary that is encoded as a list. 4 KB have hardly room for more.
    private static let maximumPairs = 100

    mutating func array(of element: TypeExpression, in scope: TypePath) -> Shape? {
        shape(of: element, in: scope).map { element in
            Shape(schema: ["type": "array", "items": element.nullable], isOptional: false)
        }
    }

    /// `[lower, upper]`, or a list of the only bound.
    mutating func range(_ name: String, _ bound: TypeExpression, bounds: Int, in scope: TypePath) -> Shape? {
        guard case .foreign(let foreign)? = index.target(of: bound, in: scope),
            BuiltInType.isBound(BuiltInType.canonical(foreign)), let shape = shape(of: bound, in: scope)
        else {
            report("only ranges of numbers, texts and dates can be read", at: bound.place)
            return nil
        }
        let schema: JSONObject = [
            "type": "array", "prefixItems": .array(Array(repeating: shape.schema, count: bounds)),
            "minItems": .number(JSONNumber(bounds)),
            "maxItems": .number(JSONNumber(bounds)),
            "x-swift-type": .string("\(name)<\(BuiltInType.canonical(foreign))>"),
        ]
        return Shape(schema: .object(schema), isOptional: false)
    }

    // MARK: Dictionaries

    mutating func dictionary(
        _ key: TypeExpression,
        _ value: TypeExpression,
        in scope: TypePath,
        at place: SourcePlace
    ) -> Shape? {
        let target = index.target(of: key, in: scope)
        guard let values = shape(of: value, in: scope)?.nullable else { return nil }
        switch target {
        case .foreign("String")?:
            return Shape(schema: ["type": "object", "additionalProperties": values], isOptional: false)
        case .foreign("Int")?:
            // The canonical spelling of an `Int` key.
            let names: JSONValue = ["pattern": "^(?:0|-?[1-9][0-9]{0,17})$"]
            return Shape(
                schema: ["type": "object", "propertyNames": names, "additionalProperties": values],
                isOptional: false
            )
        case .declared(let path)?:
            return dictionary(keyedBy: path, key, values, in: scope)
        case .foreign?, .alias?, nil:
            guard !isSupplied(key, in: scope) else {
                reportUnknownKey(key)
                return nil
            }
            guard let keys = shape(of: key, in: scope) else { return nil }
            return pairs(keys, values, most: Self.maximumPairs, key)
        }
    }

    private mutating func dictionary(
        keyedBy path: TypePath,
        _ key: TypeExpression,
        _ values: JSONValue,
        in scope: TypePath
    ) -> Shape? {
        guard let declaration = index.declarations[path], let head = declaration.head else { return nil }
        var cases: [JSONValue]?
        var rawName: String?
        if case .enumeration = head.kind, let raw = rawType(of: declaration, path) {
            cases = rawValues(of: EnumCase.all(of: declaration), type: raw.name)
            rawName = raw.name
        }
        let types = rawName == nil ? declaration.inherited : Array(declaration.inherited.dropFirst())
        let conformances = Conformances(types, scope: path, index: index)
        guard conformances.isCodingKeyRepresentable else {
            // An unknown protocol might inherit from it.
            guard conformances.unknown == nil || !isSupplied(key, in: scope) else {
                reportUnknownKey(key)
                return nil
            }
            guard let keys = shape(of: key, in: scope) else { return nil }
            return pairs(keys, values, most: cases.map(\.count) ?? Self.maximumPairs, key)
        }
        // The raw value becomes the key if it is a String or an Int. A custom `codingKey` can make any other key.
        guard let cases, rawName == "String" || rawName == "Int", !declaration.declaresVariable("codingKey"),
            shape(of: key, in: scope) != nil
        else {
            reportUnknownKey(key)
            return nil
        }
        // The schema contains one copy of the values for each key. Nested dictionaries multiply the copies.
        guard hasRoom(for: cases.count * values.schemaCount, at: key.place) else { return nil }
        let keys = cases.map { $0.string ?? $0.number?.digits ?? "" }
        let properties = JSONObject(keys.map { ($0, values) })
        let schema: JSONValue = ["type": "object", "properties": .object(properties), "additionalProperties": false]
        return Shape(schema: schema, isOptional: false)
    }

    private mutating func reportUnknownKey(_ key: TypeExpression) {
        report("how '\(key.name)' becomes a key cannot be known; use String keys", at: key.place)
    }

    /// `[key, value, key, value, …]`: how the standard library encodes a dictionary whose keys are not strings.
    private mutating func pairs(_ keys: Shape, _ values: JSONValue, most: Int, _ key: TypeExpression) -> Shape? {
        guard !keys.isOptional else {
            report("optional keys cannot be read", at: key.place)
            return nil
        }
        guard hasRoom(for: 3 * most, at: key.place) else { return nil }
        let keySchema = shared(keys.schema, named: "key")
        let valueSchema = shared(values, named: "value")
        let lengths: [JSONValue] = (0...most).map {
            ["minItems": .number(JSONNumber(2 * $0)), "maxItems": .number(JSONNumber(2 * $0))]
        }
        let schema: JSONObject = [
            "type": "array", "prefixItems": .array((0..<most).flatMap { _ in [keySchema, valueSchema] }),
            "anyOf": .array(lengths), "x-swift-type": "Dictionary",
        ]
        return Shape(schema: .object(schema), isOptional: false)
    }

    /// A reference to a schema that is used in many locations.
    private mutating func shared(_ schema: JSONValue, named name: String) -> JSONValue {
        guard schema.object?["$ref"] == nil else { return schema }
        return reference(to: definitionName(of: schema, or: name)) { _ in schema }
    }
}

extension JSONValue {
    /// An upper bound of the schemas in a schema that the importer made, including itself.
    fileprivate var schemaCount: Int {
        switch self {
        case .object(let object): object.entries.reduce(1) { $0 + $1.value.schemaCount }
        case .array(let items): items.reduce(0) { $0 + $1.schemaCount }
        case .null, .bool, .number, .string: 0
        }
    }
}
