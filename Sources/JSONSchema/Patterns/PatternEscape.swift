/// Parses an escape, after its backslash, that represents one character or a set of them.
struct PatternEscape {
    let scalars: [Unicode.Scalar]
    /// After the backslash; after ``parse()``, after the escape.
    private(set) var position: Int
    let isInClass: Bool
    /// The code point, if the escape represents a single one.
    private(set) var value: UInt32?

    mutating func parse() throws(PatternError) -> ScalarSet {
        guard let letter = take() else { throw PatternParser.syntax("a backslash stands at the end") }
        switch letter {
        case "d": return .digit
        case "D": return ScalarSet.digit.inverted
        case "w": return .word
        case "W": return ScalarSet.word.inverted
        case "s": return .space
        case "S": return ScalarSet.space.inverted
        case "p": return try parseProperty()
        case "P": return try parseProperty().inverted
        default:
            let value = try parseCharacter(letter)
            self.value = value
            return ScalarSet([value...value])
        }
    }

    private mutating func parseCharacter(_ letter: Unicode.Scalar) throws(PatternError) -> UInt32 {
        switch letter {
        case "t": return 0x09
        case "n": return 0x0A
        case "v": return 0x0B
        case "f": return 0x0C
        case "r": return 0x0D
        case "b" where isInClass: return 0x08
        case "-" where isInClass: return letter.value
        case "0":
            if let next = current, ("0"..."9").contains(next) {
                throw PatternParser.syntax("'\\0' is followed by a digit")
            }
            return 0
        case "c":
            guard let control = take(), control.isASCII, control.properties.isAlphabetic else {
                throw PatternParser.syntax("'\\c' must be followed by a letter")
            }
            return control.value % 32
        case "x": return try parseHexadecimal(digits: 2)
        case "u": return try parseCodePoint()
        case "^", "$", "\\", ".", "*", "+", "?", "(", ")", "[", "]", "{", "}", "|", "/": return letter.value
        default: throw PatternParser.syntax("'\\\(letter)' is no escape of ECMA-262")
        }
    }

    // MARK: Numbers

    private mutating func parseCodePoint() throws(PatternError) -> UInt32 {
        if current == "{" { return try parseBracedCodePoint() }
        let lead = try parseHexadecimal(digits: 4)
        guard (0xD800..<0xDC00).contains(lead), position + 1 < scalars.count, scalars[position] == "\\",
            scalars[position + 1] == "u"
        else { return lead }
        let behindLead = position
        position += 2
        let trail = try parseHexadecimal(digits: 4)
        guard (0xDC00..<0xE000).contains(trail) else {
            position = behindLead
            return lead
        }
        return 0x10000 + (lead - 0xD800) << 10 + (trail - 0xDC00)
    }

    private mutating func parseBracedCodePoint() throws(PatternError) -> UInt32 {
        position += 1
        var value: UInt32 = 0
        var digits = 0
        while let scalar = current, let digit = Self.hexadecimal(scalar) {
            value = min(value << 4 | digit, 0x110000)
            digits += 1
            position += 1
        }
        guard digits > 0, value <= 0x10FFFF, take() == "}" else {
            throw PatternParser.syntax("'\\u{' must be followed by a code point in hexadecimal and '}'")
        }
        return value
    }

    private mutating func parseHexadecimal(digits: Int) throws(PatternError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let scalar = take(), let digit = Self.hexadecimal(scalar) else {
                throw PatternParser.syntax("an escape must have \(digits) hexadecimal digits")
            }
            value = value << 4 | digit
        }
        return value
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> UInt32? {
        guard scalar.isASCII else { return nil }
        return Character(scalar).hexDigitValue.map { UInt32($0) }
    }

    // MARK: Properties

    private mutating func parseProperty() throws(PatternError) -> ScalarSet {
        guard take() == "{" else { throw PatternParser.syntax("'\\p' must be followed by a name in '{' and '}'") }
        var name = ""
        while let scalar = take() {
            guard scalar != "}" else {
                guard let property = UnicodeProperty(name: name) else {
                    throw PatternError(kind: .unsupported, message: "the Unicode property '\(name)' is not known here")
                }
                return ScalarSet(properties: [property])
            }
            guard scalar.isASCII,
                scalar == "_" || scalar == "=" || Character(scalar).isLetter || Character(scalar).isNumber
            else { break }
            name.unicodeScalars.append(scalar)
        }
        throw PatternParser.syntax("'\\p{' must be followed by the name of a property and '}'")
    }

    // MARK: Steps

    private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func take() -> Unicode.Scalar? {
        guard let scalar = current else { return nil }
        position += 1
        return scalar
    }
}
