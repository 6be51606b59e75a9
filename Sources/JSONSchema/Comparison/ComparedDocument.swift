internal import JSON

/// A schema document that is compared, with what has to be known of all of it.
struct ComparedDocument {
    private let root: JSONValue
    /// Whether schemas in it have names of their own (`$id`), which references may be meant from.
    private let namesSchemas: Bool

    init(_ root: JSONValue) {
        self.root = root
        namesSchemas = (root.object?.entries ?? []).contains { $0.value.namesSchemas }
    }

    /// What stands at a place.
    subscript(pointer: JSONPointer) -> JSONValue? { root[pointer] }

    /// The place that a reference into the document names; nil for anchors and other documents, and where it may be
    /// meant from a schema that has a name of its own.
    func target(of reference: String?) -> JSONPointer? {
        guard let reference, reference.hasPrefix("#"), !namesSchemas,
            let text = SchemaCompiler.percentDecoded(String(reference.dropFirst()))
        else { return nil }
        return JSONPointer(text)
    }
}

extension JSONValue {
    /// Whether it, or anything in it, has the name of a schema.
    fileprivate var namesSchemas: Bool {
        switch self {
        case .object(let object):
            object["$id"]?.string != nil || object.entries.contains { $0.value.namesSchemas }
        case .array(let items): items.contains(where: \.namesSchemas)
        case .null, .bool, .number, .string: false
        }
    }

    /// A schema without what only describes it, on every level.
    var withoutAnnotations: JSONValue {
        guard case .object(let object) = self else { return self }
        let kept = object.entries.filter { SchemaShape.isReferredTo($0.key) || !SchemaShape.isAnnotation($0.key) }
        return .object(JSONObject(kept.map { ($0.key, $0.value.withoutAnnotations(of: $0.key)) }))
    }

    /// The same for the value of a keyword, which holds schemas or is left as it is.
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
