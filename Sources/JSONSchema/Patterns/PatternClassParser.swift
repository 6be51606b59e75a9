/// Parses the part between `[` and `]`.
struct PatternClassParser {
    let scalars: [Unicode.Scalar]
    /// After the opening bracket; after ``parse()``, after the closing one.
    private(set) var position: Int

    mutating func parse() throws(PatternError) -> ScalarSet {
        let isNegated = skip("^")
        var sets: [ScalarSet] = []
        var ranges: [ClosedRange<UInt32>] = []
        while !skip("]") {
            let (set, value) = try parseAtom()
            guard isRange else {
                if let value { ranges.append(value...value) } else { sets.append(set) }
                continue
            }
            position += 1
            let (_, last) = try parseAtom()
            guard let value, let last else {
                throw PatternParser.syntax("a range in brackets must be of two characters")
            }
            guard value <= last else { throw PatternParser.syntax("a range in brackets runs backwards") }
            ranges.append(value...last)
        }
        sets.append(ScalarSet(ranges))
        return ScalarSet(union: sets, isNegated: isNegated)
    }

    /// Whether the next `-` is a range operator and not a literal.
    private var isRange: Bool {
        position + 1 < scalars.count && scalars[position] == "-" && scalars[position + 1] != "]"
    }

    /// Parses one member: a set, and its value if it is a single code point.
    private mutating func parseAtom() throws(PatternError) -> (set: ScalarSet, value: UInt32?) {
        guard position < scalars.count else { throw PatternParser.syntax("a '[' has no ']'") }
        let scalar = scalars[position]
        position += 1
        guard scalar == "\\" else { return (ScalarSet(), scalar.value) }
        var escape = PatternEscape(scalars: scalars, position: position, isInClass: true)
        let set = try escape.parse()
        position = escape.position
        return (set, escape.value)
    }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard position < scalars.count, scalars[position] == scalar else { return false }
        position += 1
        return true
    }
}
