internal import JSON

/// A schema document in a comparison, with facts about the whole document.
struct ComparedDocument {
    private let root: JSONValue
    /// Whether schemas in it have a `$id`. References may then be relative to that.
    private let namesSchemas: Bool

    init(_ root: JSONValue) {
        self.root = root
        namesSchemas = (root.object?.entries ?? []).contains { $0.value.namesSchemas }
    }

    /// The value at a location.
    subscript(pointer: JSONPointer) -> JSONValue? { root[pointer] }

    /// The location that a reference into this document names. `nil` for anchors, for other documents, and for every
    /// reference if a schema in it has a `$id`.
    func target(of reference: String?) -> JSONPointer? {
        guard let reference, reference.hasPrefix("#"), !namesSchemas,
            let text = SchemaCompiler.percentDecoded(String(reference.dropFirst()))
        else { return nil }
        return JSONPointer(text)
    }
}

extension JSONValue {
    /// Whether it, or any value in it, has a `$id`.
    fileprivate var namesSchemas: Bool {
        switch self {
        case .object(let object):
            object["$id"]?.string != nil || object.entries.contains { $0.value.namesSchemas }
        case .array(let items): items.contains(where: \.namesSchemas)
        case .null, .bool, .number, .string: false
        }
    }

    /// A schema without its annotations, on every level.
    var withoutAnnotations: JSONValue {
        guard case .object(let object) = self else { return self }
        let kept = object.entries.filter { SchemaShape.isReferredTo($0.key) || !SchemaShape.isAnnotation($0.key) }
        return .object(JSONObject(kept.map { ($0.key, $0.value.withoutAnnotations(of: $0.key)) }))
    }

    /// The same for the value of a keyword. A value without schemas is unchanged.
    private func withoutAnnotations(of keyword: String) -> JSONValue {
        switch keyword {
        case "$defs", "definitions", "properties", "patternProperties", "dependentSchemas":
            guard case .object(let object) = self else { return self }
            return .object(JSONObject(object.entries.map { ($0.key, $0.value.withoutAnnotations) }))
        case "allOf", "anyOf", "oneOf", "prefixItems":
            return .array((array ?? []).map(\.withoutAnnotations))
        case "enum", "const", "dependentRequired":
            return self
        default:
            return withoutAnnotations
        }
    }
}
