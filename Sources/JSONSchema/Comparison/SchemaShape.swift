internal import JSON

/// One schema of a document in the form that a comparison needs: references are followed, and null is separate.
struct SchemaShape {
    /// Keywords that do not constrain the value. Formats are not asserted.
    private static let annotations: Set<String> = [
        "$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "$vocabulary", "title",
        "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "contentEncoding",
        "contentMediaType", "contentSchema",
    ]
    private static let referredTo: Set<String> = [
        "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "x-swift-type",
    ]
    private static let maximumReferences = 32
    private static let allTypes: Set<String> = ["boolean", "number", "string", "array", "object"]

    /// Empty for `true` and `false`.
    let keywords: JSONObject
    /// Its location in the document, after all references are followed.
    let pointer: JSONPointer
    /// The allowed JSON types without null. `integer` means that only integers are allowed.
    let types: Set<String>
    let allowsNull: Bool
    /// Whether null is also allowed, by `anyOf` or `oneOf` with a null alternative.
    let isNullable: Bool
    /// The target of its own reference, if it has other keywords beside it. `nil` without such a reference, or if it
    /// cannot be followed.
    let target: JSONPointer?

    /// A schema in its document.
    struct Found {
        fileprivate let schema: JSONValue
        /// Its location after all references are followed.
        let pointer: JSONPointer
        /// Whether null is also allowed.
        fileprivate let isNullable: Bool
        fileprivate let target: JSONPointer?

        /// The total number of members of its keywords.
        var breadth: Int {
            (schema.object?.entries ?? []).reduce(0) { $0 + ($1.value.array?.count ?? $1.value.object?.count ?? 0) }
        }
    }

    /// Finds the schema at a location; `nil` if a reference leads out of the document.
    static func find(_ pointer: JSONPointer, in document: ComparedDocument) -> Found? {
        follow(pointer, document, depth: 0)
    }

    /// Reads a schema.
    init(_ found: Found) {
        (pointer, isNullable, target) = (found.pointer, found.isNullable, found.target)
        switch found.schema {
        case .bool(false):
            (keywords, types, allowsNull) = (JSONObject(), [], isNullable)
        case .object(let object):
            keywords = object
            var types = Self.types(object)
            if let values = Self.values(object) {
                allowsNull = isNullable || (types.contains("null") && values.contains(.null))
            } else {
                allowsNull = isNullable || types.contains("null")
            }
            types.remove("null")
            self.types = types
        default:
            (keywords, types, allowsNull) = (JSONObject(), Self.allTypes, true)
        }
    }

    /// The values of `enum` or `const` without null; `nil` if all values are allowed.
    var values: [JSONValue]? { Self.values(keywords)?.filter { !$0.isNull } }

    /// The keys of an object that must have exactly one of them. An enum with associated values has this form.
    var cases: Set<ExactText>? {
        guard let alternatives = keywords["oneOf"]?.array else { return nil }
        var keys: Set<ExactText> = []
        for alternative in alternatives {
            guard let object = alternative.object, object.count == 1, let names = object["required"]?.array,
                names.count == 1, let name = names[0].string
            else { return nil }
            keys.insert(ExactText(name))
        }
        return keys
    }

    /// Whether references may lead to this keyword, or a comparison reads it, although it does not constrain the value.
    static func isReferredTo(_ keyword: String) -> Bool { referredTo.contains(keyword) }

    static func isAnnotation(_ keyword: String) -> Bool { annotations.contains(keyword) || keyword.hasPrefix("x-") }

    private static func types(_ object: JSONObject) -> Set<String> {
        let all = allTypes.union(["null"])
        guard let type = object["type"] else { return values(object).map { Set($0.map(\.typeName)) } ?? all }
        var types = Set(type.string.map { [$0] } ?? (type.array ?? []).compactMap(\.string))
        if types.contains("number") { types.remove("integer") }
        return types
    }

    private static func values(_ object: JSONObject) -> [JSONValue]? {
        if let constant = object["const"] { return [constant] }
        return object["enum"]?.array
    }

    /// Follows references, and alternatives that consist of one schema and null.
    private static func follow(
        _ pointer: JSONPointer,
        _ document: ComparedDocument,
        depth: Int
    ) -> Found? {
        guard depth < maximumReferences, let schema = document[pointer] else { return nil }
        let target = document.target(of: schema.object?["$ref"]?.string)
        let found = Found(schema: schema, pointer: pointer, isNullable: false, target: target)
        guard case .object(let object) = schema else { return found }
        let speaking = object.keys.filter { !isAnnotation($0) }
        guard speaking.count == 1, let keyword = speaking.first else { return found }
        switch keyword {
        case "$ref":
            return target.flatMap { follow($0, document, depth: depth + 1) }
        case "anyOf", "oneOf":
            let alternatives = object[keyword]?.array ?? []
            let null: JSONValue = ["type": "null"]
            guard alternatives.count == 2, let place = alternatives.firstIndex(where: { $0 != null }),
                alternatives.contains(null)
            else { return found }
            let inner = pointer.appending(keyword).appending(index: place)
            return follow(inner, document, depth: depth + 1).map {
                Found(schema: $0.schema, pointer: $0.pointer, isNullable: true, target: $0.target)
            }
        default:
            return found
        }
    }
}

extension JSONValue {
    /// The JSON type of the value.
    fileprivate var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}
