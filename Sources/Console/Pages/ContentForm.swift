import ActivityModel
import JSON

/// A form for a content state, made from its schema.
///
/// The API judges the content. The form only turns each text into the JSON that its field looks like.
struct ContentForm {
    private static let prefix = "field."

    private struct Field {
        let name: String
        let kind: Kind
        let isRequired: Bool
        let note: String

        enum Kind {
            case text, number, flag, json
            case choice([JSONValue])
        }
    }

    private let fields: [Field]

    /// Nil if the schema names no properties; the form is then one text of JSON.
    init?(_ schema: JSONValue) {
        guard let properties = schema["properties"]?.object, !properties.isEmpty else { return nil }
        let required = Set(schema["required"]?.array?.compactMap(\.string) ?? [])
        fields = properties.entries.map { name, schema in
            Field(
                name: name,
                kind: Self.kind(schema),
                isRequired: required.contains(name),
                note: schema["x-swift-type"]?.string ?? Self.types(schema).joined(separator: " or ")
            )
        }
    }

    private static func types(_ schema: JSONValue) -> [String] {
        schema["type"]?.string.map { [$0] } ?? schema["type"]?.array?.compactMap(\.string) ?? []
    }

    private static func kind(_ schema: JSONValue) -> Field.Kind {
        if let words = schema["enum"]?.array, !words.isEmpty { return .choice(words) }
        return switch types(schema).first(where: { $0 != "null" }) {
        case "string": .text
        case "integer", "number": .number
        case "boolean": .flag
        default: .json
        }
    }

    /// The inputs, filled with a content state.
    func html(_ state: JSONObject) -> HTML {
        fields.html { field in
            let name = Self.prefix + field.name
            let value = state[field.name]
            let required: HTML = field.isRequired ? " required" : ""
            let label: HTML =
                "<label for=\"\(name)\">\(field.name) <small>\(field.note)\(field.isRequired ? "" : ", optional")</small></label>"
            switch field.kind {
            case .text:
                return "<div>\(label)<input id=\"\(name)\" name=\"\(name)\" value=\"\(value?.string ?? "")\"></div>"
            case .number:
                let text = value.map { $0.string ?? ($0.isNull ? "" : $0.text) } ?? ""
                return
                    "<div>\(label)<input id=\"\(name)\" name=\"\(name)\" value=\"\(text)\" inputmode=\"decimal\"\(required)></div>"
            case .flag:
                return "<div>\(label)\(select(name, [.bool(true), .bool(false)], value, field.isRequired))</div>"
            case .choice(let words):
                return "<div>\(label)\(select(name, words, value, field.isRequired))</div>"
            case .json:
                let text = value.map { Parts.pretty($0) } ?? ""
                return
                    "<div class=\"span\">\(label)<textarea id=\"\(name)\" name=\"\(name)\" rows=\"4\" spellcheck=\"false\"\(required)>\n\(text)</textarea></div>"
            }
        }
    }

    private func select(_ name: String, _ words: [JSONValue], _ value: JSONValue?, _ isRequired: Bool) -> HTML {
        let options = words.filter { !$0.isNull }.html { word in
            let selected: HTML = word == value ? " selected" : ""
            return "<option value=\"\(word.text)\"\(selected)>\(word.string ?? word.text)</option>"
        }
        return
            "<select id=\"\(name)\" name=\"\(name)\">\(isRequired ? "" : "<option value=\"\">–</option>" as HTML)\(options)</select>"
    }

    /// The content state that a form holds. Members that the schema does not name stay as they were.
    func state(_ form: FormFields, over old: JSONObject) -> JSONObject {
        var state = old
        for field in fields {
            guard let text = form.raw(Self.prefix + field.name) else { continue }
            state[field.name] = Self.value(text, field)
        }
        return state
    }

    private static func value(_ text: String, _ field: Field) -> JSONValue? {
        switch field.kind {
        case .text:
            return text.isEmpty && !field.isRequired ? nil : .string(text)
        case .number, .flag, .choice, .json:
            if text.trimmed.isEmpty { return nil }
            // A text that is no JSON goes to the API as text, which then names the field and what it expects.
            return (try? JSONValue(parsing: text.trimmed)) ?? .string(text)
        }
    }
}
