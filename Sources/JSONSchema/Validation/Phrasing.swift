internal import JSON

/// Builds the texts of messages. They are fragments that follow a pointer: `/home_score: 2.5 is not an integer`.
enum Phrasing {
    private static let maximumLength = 40
    private static let maximumListed = 10

    /// A value, shortened; arrays and objects by kind only.
    static func of(_ value: JSONValue) -> String {
        switch value {
        case .array: return "an array"
        case .object: return "an object"
        case .null, .bool, .number, .string:
            return shortened(value.text)
        }
    }

    /// A text from the schema, such as a pattern, in quotes and shortened.
    static func quote(_ text: String) -> String { "'\(shortened(text))'" }

    private static func shortened(_ text: String) -> String {
        text.count > maximumLength ? text.prefix(maximumLength) + "…" : text
    }

    /// A number, shortened.
    static func of(_ number: JSONNumber) -> String { of(.number(number)) }

    /// `2.5 is not an integer`, `"x" is neither a number nor null`.
    static func isNot(_ value: JSONValue, _ types: TypeSet) -> String {
        let names = TypeSet.all.filter { types.contains($0.set) }.map(\.phrase)
        if names.count == 1 { return "\(of(value)) is not \(names[0])" }
        return "\(of(value)) is neither " + names.joined(separator: " nor ")
    }

    static func list(_ values: ArraySlice<JSONValue>) -> String {
        let shown = values.prefix(maximumListed).map(of)
        let rest = values.count - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    static func count(_ number: Int, _ noun: String) -> String { number == 1 ? "1 \(noun)" : "\(number) \(noun)s" }
}
