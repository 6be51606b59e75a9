internal import JSON

/// Keeps keys out that the decoder takes for a known one although they are written with other code points.
///
/// `JSONDecoder` looks members up by Swift's `String` equality, for which canonically equivalent texts are the same:
/// `é` in one scalar or in two, and the kelvin sign (U+212A) and `K`. A schema compares code points, would take such a
/// member for an unknown one, and would not look at its value.
enum KeySpelling {
    /// The code points outside ASCII that are equivalent to one inside.
    private static let doubles: [(ascii: Unicode.Scalar, other: Unicode.Scalar)] = [
        ("K", "\u{212A}"), (";", "\u{37E}"), ("`", "\u{1FEF}"),
    ]

    /// The schema of the keys of an object that has these; nil if no other spelling of them exists.
    static func schema(for keys: [String]) -> JSONValue? {
        let other = keys.filter { !$0.utf8.allSatisfy { $0 < 0x80 } }
        if !other.isEmpty {
            // Too many spellings to list; beside the known keys only ASCII is let in.
            return ["anyOf": [["pattern": "^[\\x00-\\x7F]*$"], ["enum": .array(keys.map(JSONValue.string))]]]
        }
        let confusable = doubles.filter { double in keys.contains { $0.unicodeScalars.contains(double.ascii) } }
        guard !confusable.isEmpty else { return nil }
        let set = confusable.map { String($0.other) }.joined()
        return ["pattern": .string("^[^\(set)]*$")]
    }
}
