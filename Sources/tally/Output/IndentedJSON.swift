import JSON

extension JSONValue {
    /// Two spaces per level; empty objects and arrays on one line.
    var indentedText: String { indented(level: 0) }

    private func indented(level: Int) -> String {
        let inner = String(repeating: "  ", count: level + 1)
        let outer = String(repeating: "  ", count: level)
        switch self {
        case .object(let object) where !object.isEmpty:
            let lines = object.entries.map { entry in
                inner + JSONValue.string(entry.key).text + ": " + entry.value.indented(level: level + 1)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n" + outer + "}"
        case .array(let array) where !array.isEmpty:
            let lines = array.map { inner + $0.indented(level: level + 1) }
            return "[\n" + lines.joined(separator: ",\n") + "\n" + outer + "]"
        case .null, .bool, .number, .string, .array, .object:
            return text
        }
    }
}
