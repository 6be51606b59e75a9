internal import JSON

/// Refuses keys that the decoder takes for a known key although their code points differ.
///
/// `JSONDecoder` looks members up by Swift's `String` equality, which treats canonically equivalent texts as equal.
/// Examples are `é` in one scalar or in two, and the kelvin sign (U+212A) and `K`. A schema compares code points, so it
/// would treat such a member as unknown and not check its value.
enum KeySpelling {
    /// Code points outside ASCII that are equivalent to an ASCII one.
    private static let doubles: [(ascii: Unicode.Scalar, other: Unicode.Scalar)] = [
        ("K", "\u{212A}"), (";", "\u{37E}"), ("`", "\u{1FEF}"),
    ]

    /// The schema of the property names for an object with these keys; `nil` if they have no other spelling.
    static func schema(for keys: [String]) -> JSONValue? {
        let other = keys.filter { !$0.utf8.allSatisfy { $0 < 0x80 } }
        if !other.isEmpty {
            // Too many spellings to list. All keys except the known ones must be ASCII.
            return ["anyOf": [["pattern": "^[\\x00-\\x7F]*$"], ["enum": .array(keys.map(JSONValue.string))]]]
        }
        let confusable = doubles.filter { double in keys.contains { $0.unicodeScalars.contains(double.ascii) } }
        guard !confusable.isEmpty else { return nil }
        let set = confusable.map { String($0.other) }.joined()
        return ["pattern": .string("^[^\(set)]*$")]
    }
}
