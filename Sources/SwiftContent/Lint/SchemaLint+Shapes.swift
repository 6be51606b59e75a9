internal import JSON

// Rules for objects and arrays.
extension SchemaLint {
    /// Checks the type as a whole.
    mutating func lookAtRoot() {
        guard let place = rootObject, let schema = document[place],
            let properties = schema["properties"]?.object, properties.count > 1
        else { return }
        let required = Set((schema["required"]?.array ?? []).compactMap(\.string))
        guard properties.keys.allSatisfy(required.contains) else { return }
        report(
            .noOptionals,
            place,
            "every property is required, so a later version of the app can neither remove nor add one while activities run; "
                + "make those optional that may change"
        )
    }

    /// The location of the object that the document describes, after all references.
    private var rootObject: JSONPointer? {
        var place = JSONPointer()
        for _ in 0..<8 {
            guard let target = document[place]?["$ref"]?.string.flatMap(LocalReference.target) else { return place }
            place = target
        }
        return nil
    }

    mutating func lookAtObject(_ schema: SchemaObject) {
        let properties = schema["properties"]?.object ?? JSONObject()
        lookAtNames(properties.keys, schema)
        for name in (schema["required"]?.array ?? []).compactMap(\.string) {
            let place = schema.place.appending("properties").appending(name)
            guard properties[name] != nil, takesNull(at: place) else { continue }
            report(
                .unavoidableNull,
                place,
                "'\(name)' must be there and may be null. A null has kept cards from starting: make it optional, so that "
                    + "you can leave it out"
            )
        }
        guard case .object? = schema["additionalProperties"] else { return }
        let place = schema.place.appending("additionalProperties")
        reportNullItem(at: place)
        if schema["maxProperties"] == nil {
            report(.unboundedObject, schema.place, unbounded("entries", "maxProperties", place))
        }
    }

    mutating func lookAtArray(_ schema: SchemaObject) {
        guard schema.types.contains("array") else { return }
        let place = schema.place.appending("items")
        if schema["items"] == nil, Self.hasRoomBehindFirstItems(schema) {
            report(
                .unchecked,
                schema.place,
                "nothing is said about the items of this list; say what they are (\"items\")"
            )
        }
        guard case .object? = schema["items"] else { return }
        reportNullItem(at: place)
        if schema["maxItems"] == nil { report(.unboundedArray, schema.place, unbounded("items", "maxItems", place)) }
    }

    private static func hasRoomBehindFirstItems(_ schema: SchemaObject) -> Bool {
        guard let most = schema["maxItems"]?.int64 else { return true }
        return most > Int64(schema["prefixItems"]?.array?.count ?? 0)
    }

    /// The message for a value that may contain any number of these.
    private mutating func unbounded(_ what: String, _ keyword: String, _ item: JSONPointer) -> String {
        let each = sizes.bytes(at: item).map { " of up to \($0) bytes each" } ?? ""
        return
            "there may be any number of \(what)\(each), and attributes and content state share \(Self.contentBytes) bytes; "
            + "say \(keyword)"
    }

    private mutating func reportNullItem(at place: JSONPointer) {
        guard takesNull(at: place) else { return }
        report(
            .unavoidableNull,
            place,
            "null is let in where it cannot be left out, and a null is known to have kept a card from starting; "
                + "let only values in"
        )
    }

    /// Whether the schema at a location explicitly allows null.
    private func takesNull(at place: JSONPointer) -> Bool {
        guard let schema = document[place]?.object else { return false }
        if SchemaObject(schema, at: place, name: nil).types.contains("null") { return true }
        if schema["const"]?.isNull == true || schema["enum"]?.array?.contains(.null) == true && schema["type"] == nil {
            return true
        }
        return ["anyOf", "oneOf"].contains { keyword in
            (schema[keyword]?.array ?? []).contains { $0["type"]?.string == "null" || $0["const"]?.isNull == true }
        }
    }

    private mutating func lookAtNames(_ names: [String], _ schema: SchemaObject) {
        guard let snake = names.first(where: \.isSnakeCase) else { return }
        let place = schema.place.appending("properties").appending(snake)
        if let camel = names.first(where: \.isCamelCase) {
            report(
                .mixedCase,
                place,
                "'\(snake)' has underscores and '\(camel)' has not. The phone knows a property by one name, its own or that of "
                    + "its CodingKeys. One of the two may be a slip"
            )
        } else if schema.swiftType == nil {
            report(
                .snakeCase,
                place,
                "'\(snake)' is written with underscores, and the phone's decoder converts no names; unless the struct has "
                    + "CodingKeys for that, write the name of the property"
            )
        }
    }
}
