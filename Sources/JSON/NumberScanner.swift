/// Scans one number in JSON's grammar: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
struct NumberScanner {
    enum Outcome: Equatable {
        /// A number ends before ``position``.
        case number
        /// The byte at ``position``, or the end of the text there, violates the grammar.
        case malformed(expected: String)
        /// The grammar is satisfied, but the exponent is too large.
        case exponentTooLarge
    }

    /// The position of the scan; after a failure, the position of the error.
    var position: Int

    mutating func scan(_ bytes: Span<UInt8>) -> Outcome {
        if current(bytes) == UInt8(ascii: "-") { position += 1 }
        if current(bytes) == UInt8(ascii: "0") {
            position += 1
            if let digit = current(bytes), Self.isDigit(digit) {
                return .malformed(expected: "no digit after a leading zero")
            }
        } else if !skipDigits(bytes) {
            return .malformed(expected: "a digit")
        }
        if current(bytes) == UInt8(ascii: ".") {
            position += 1
            guard skipDigits(bytes) else { return .malformed(expected: "a digit after the decimal point") }
        }
        if current(bytes) == UInt8(ascii: "e") || current(bytes) == UInt8(ascii: "E") {
            position += 1
            if current(bytes) == UInt8(ascii: "+") || current(bytes) == UInt8(ascii: "-") { position += 1 }
            while current(bytes) == UInt8(ascii: "0"), position + 1 < bytes.count, Self.isDigit(bytes[position + 1]) {
                position += 1
            }
            let start = position
            guard skipDigits(bytes) else { return .malformed(expected: "a digit in the exponent") }
            if position - start > JSONNumber.maximumExponentDigits { return .exponentTooLarge }
        }
        return .number
    }

    private func current(_ bytes: Span<UInt8>) -> UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips digits; false if there is no digit.
    private mutating func skipDigits(_ bytes: Span<UInt8>) -> Bool {
        let start = position
        while position < bytes.count, Self.isDigit(bytes[position]) { position += 1 }
        return position > start
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
