import ActivityModel
import JSON

/// A form for a content state, made from its schema.
///
/// The API judges the content. The form only turns each changed text into the JSON that its field looks like.
struct ContentForm {
    private static let prefix = "field."
    /// The prefix of the hidden input with the text that a field was opened with.
    static let openedPrefix = "was."

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

    /// The most properties that get inputs of their own. Each takes two of ``FormFields/most``.
    static let most = 80

    /// Nil if the schema names no properties, or too many; the form is then one text of JSON.
    init?(_ schema: JSONValue) {
        guard let properties = schema["properties"]?.object, !properties.isEmpty else { return nil }
        guard properties.count <= Self.most else { return nil }
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

    /// The inputs. They show a content state, and what the operator has changed in the form that was sent.
    ///
    /// Each input comes with the text that it was opened with, so that an untouched field keeps its exact value.
    func html(_ state: JSONObject, _ form: FormFields) -> HTML {
        fields.html { field in
            let name = Self.prefix + field.name
            let opened = Self.text(state[field.name], field)
            let text = Self.change(of: field, from: opened, in: form) ?? opened
            let required: HTML = field.isRequired ? " required" : ""
            let label: HTML =
                "<label for=\"\(name)\"><bdi>\(field.name)</bdi> <small>\(field.note)\(field.isRequired ? "" : ", optional")</small></label>"
            let hidden: HTML = "<input type=\"hidden\" name=\"\(Self.openedPrefix + field.name)\" value=\"\(opened)\">"
            switch field.kind {
            case .text where text.contains(where: \.isNewline):
                return
                    "<div class=\"span\">\(label)<textarea id=\"\(name)\" name=\"\(name)\" rows=\"4\">\n\(text)</textarea>\(hidden)</div>"
            case .text:
                return "<div>\(label)<input id=\"\(name)\" name=\"\(name)\" value=\"\(text)\">\(hidden)</div>"
            case .number:
                return
                    "<div>\(label)<input id=\"\(name)\" name=\"\(name)\" value=\"\(text)\" inputmode=\"decimal\"\(required)>\(hidden)</div>"
            case .flag:
                let flags = select(name, [.bool(true), .bool(false)], text, field.isRequired)
                return "<div>\(label)\(flags)\(hidden)</div>"
            case .choice(let words):
                return "<div>\(label)\(select(name, words, text, field.isRequired))\(hidden)</div>"
            case .json:
                return
                    "<div class=\"span\">\(label)<textarea id=\"\(name)\" name=\"\(name)\" rows=\"4\" spellcheck=\"false\"\(required)>\n\(text)</textarea>\(hidden)</div>"
            }
        }
    }

    private func select(_ name: String, _ words: [JSONValue], _ text: String, _ isRequired: Bool) -> HTML {
        let words = words.filter { !$0.isNull }
        let options = words.html { word in
            let selected: HTML = word.text == text ? " selected" : ""
            return "<option value=\"\(word.text)\"\(selected)>\(word.string ?? word.text)</option>"
        }
        // Without an option of its own, a value outside the list would become the first of the list.
        let isOutside = !text.isEmpty && !words.contains { $0.text == text }
        let outside: HTML = isOutside ? "<option value=\"\(text)\" selected>\(text)</option>" : ""
        let none: HTML = isRequired && !text.isEmpty ? "" : "<option value=\"\">–</option>"
        return "<select id=\"\(name)\" name=\"\(name)\">\(none)\(outside)\(options)</select>"
    }

    /// The content state with the fields that the operator changed. Every other member stays as it is in `newest`.
    func state(_ form: FormFields, over newest: JSONObject) -> JSONObject {
        var state = newest
        for field in fields {
            let opened = Self.text(newest[field.name], field)
            guard let text = Self.change(of: field, from: opened, in: form) else { continue }
            state[field.name] = Self.value(text, field)
        }
        return state
    }

    /// The text that the operator gave a field; nil if it is the one that the form was opened with.
    private static func change(of field: Field, from newest: String, in form: FormFields) -> String? {
        guard let sent = form.raw(prefix + field.name) else { return nil }
        let text = lines(sent)
        let opened = lines(form.raw(openedPrefix + field.name) ?? newest)
        // Swift counts texts as equal that differ in their code points.
        return text.utf8.elementsEqual(opened.utf8) ? nil : text
    }

    /// Whether the input of that name was sent as it was opened.
    static func isUntouched(_ name: String, _ form: FormFields) -> Bool {
        // A content state without fields is one text.
        let openedName = name == "content_state" ? "was_content_state" : "\(openedPrefix)\(label(name))"
        guard name.hasPrefix(prefix) || name == "content_state", let opened = form.raw(openedName) else { return false }
        return lines(opened).utf8.elementsEqual(lines(form.raw(name) ?? "").utf8)
    }

    /// The name of an input as its form shows it.
    static func label(_ name: String) -> String {
        name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name.replacing("_", with: " ")
    }

    /// Browsers send every line break as CR and LF.
    private static func lines(_ text: String) -> String {
        text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }

    /// What the input of a field shows of its value.
    private static func text(_ value: JSONValue?, _ field: Field) -> String {
        guard let value else { return "" }
        switch field.kind {
        case .text, .number: return value.isNull ? "" : value.string ?? value.text
        case .flag, .choice: return value.isNull ? "" : value.text
        case .json: return Parts.pretty(value)
        }
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
