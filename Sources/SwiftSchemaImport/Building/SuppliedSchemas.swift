internal import JSON
internal import JSONSchema
internal import SwiftContent

/// Schemas from the caller for types that the sources cannot explain.
struct SuppliedSchemas {
    /// Keywords that would change their meaning, because the schema is copied into another document.
    private static let placeBound: Set<String> = [
        "$schema", "$id", "$ref", "$anchor", "$defs", "$dynamicRef", "$dynamicAnchor", "$vocabulary",
    ]

    private let schemas: [String: JSONValue]

    init(_ schemas: [String: JSONValue]) throws(SwiftImportError) {
        var problems: [SwiftImportError.Problem] = []
        for (name, schema) in schemas.sorted(by: { $0.key < $1.key }) {
            let place = JSONPointer(tokens: [name])
            if let word = Self.firstPlaceBound(in: schema, depth: 0) {
                let message = "the schema for '\(name)' must be complete without '\(word)'"
                problems.append(.init(place: nil, supplied: place, message: message))
                continue
            }
            do {
                _ = try CompiledSchema(schema)
            } catch {
                let pointer = place.appending(contentsOf: error.pointer)
                let message = "the schema for '\(name)' is invalid, at '\(error.pointer)': \(error.message)"
                problems.append(.init(place: nil, supplied: pointer, message: message))
            }
        }
        guard problems.isEmpty else { throw SwiftImportError(Array(problems.prefix(SwiftImportError.maximumProblems))) }
        self.schemas = schemas
    }

    /// The schema for a type, found by its last name or by several.
    subscript(path: TypePath) -> JSONValue? {
        for start in path.indices {
            if let schema = schemas[path[start...].joined(separator: ".")] { return schema }
        }
        return nil
    }

    private static func firstPlaceBound(in value: JSONValue, depth: Int) -> String? {
        guard depth < 64 else { return "so much inside it" }
        switch value {
        case .object(let object):
            for (key, member) in object.entries {
                if placeBound.contains(key) { return key }
                if let word = firstPlaceBound(in: member, depth: depth + 1) { return word }
            }
            return nil
        case .array(let items):
            return items.lazy.compactMap { firstPlaceBound(in: $0, depth: depth + 1) }.first
        case .null, .bool, .number, .string:
            return nil
        }
    }
}
