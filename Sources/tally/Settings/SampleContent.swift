import Foundation
import JSON

/// Content that matches a JSON Schema, for trying a type. It knows what Swift structs need: objects, lists, references,
/// enums, dates and bounds. The server judges the result.
struct SampleContent {
    private let root: JSONValue
    private let now: Date

    init(_ schema: JSONValue, now: Date = Date()) {
        root = schema
        self.now = now
    }

    var value: JSONValue { sample(root, depth: 0) }

    /// A schema that contains itself ends here.
    private static let maximumDepth = 8

    private func sample(_ schema: JSONValue, depth: Int) -> JSONValue {
        guard depth < Self.maximumDepth else { return .null }
        if let fixed = schema["const"] ?? schema["enum"]?.array?.first ?? schema["examples"]?.array?.first {
            return fixed
        }
        if let reference = schema["$ref"]?.string, reference.hasPrefix("#"),
            let pointer = JSONPointer(String(reference.dropFirst())), let target = root[pointer]
        {
            return sample(target, depth: depth + 1)
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let choices = schema[key]?.array ?? []
            if let choice = choices.first(where: { $0["type"] != "null" }) { return sample(choice, depth: depth + 1) }
        }
        if schema["x-swift-type"] == "Date" { return .string(now.formatted(.iso8601)) }
        let types = schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string].compactMap(\.self)
        switch types.first(where: { $0 != "null" }) {
        case "string": return string(schema)
        case "integer", "number": return number(schema)
        case "boolean": return true
        case "array":
            let count = Int(schema["minItems"]?.int64 ?? 0)
            return .array((0..<max(0, min(count, 100))).map { _ in sample(schema["items"] ?? true, depth: depth + 1) })
        default: return object(schema, depth)
        }
    }

    private func object(_ schema: JSONValue, _ depth: Int) -> JSONValue {
        let names = schema["required"]?.array?.compactMap(\.string) ?? []
        return .object(
            JSONObject(
                names.map { name in
                    (name, sample(schema["properties"]?.object?[name] ?? true, depth: depth + 1))
                }
            )
        )
    }

    private func string(_ schema: JSONValue) -> JSONValue {
        switch schema["format"]?.string {
        case "date-time": return .string(now.formatted(.iso8601))
        case "uuid": return .string(UUID().uuidString)
        case "uri": return "https://example.com"
        default:
            let least = Int(schema["minLength"]?.int64 ?? 0)
            let most = Int(schema["maxLength"]?.int64 ?? .max)
            let text = "Text" + String(repeating: "x", count: max(4, min(least, 1_000)) - 4)
            return .string(String(text.prefix(max(0, most))))
        }
    }

    private func number(_ schema: JSONValue) -> JSONValue {
        let least = schema["minimum"]?.int64 ?? schema["exclusiveMinimum"]?.int64.map { $0 == .max ? $0 : $0 + 1 } ?? 1
        return .number(JSONNumber(min(least, schema["maximum"]?.int64 ?? least)))
    }
}
