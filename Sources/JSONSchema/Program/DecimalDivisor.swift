internal import JSON

/// The value of `multipleOf`. It divides numbers of any size exactly.
struct DecimalDivisor: Sendable {
    /// The maximum number of significant digits. The cost of a division grows with them.
    static let maximumDigits = 1_000

    /// The value as written, for messages.
    let digits: String
    private let coefficient: BigNatural
    private let exponent: Int
    /// An upper bound of the coefficient's factors of two or five.
    private let usefulZeros: Int

    /// Takes a positive number; `nil` for any other and for one with too many significant digits.
    init?(_ number: JSONNumber) {
        let decimal = number.decimal
        guard !decimal.isZero, !decimal.isNegative, decimal.coefficient.count <= Self.maximumDigits else { return nil }
        digits = number.digits
        var coefficient = BigNatural()
        for digit in decimal.coefficient { coefficient.append(digit: digit) }
        self.coefficient = coefficient
        exponent = decimal.exponent
        usefulZeros = coefficient.bitWidth
    }

    /// The cost of dividing that number, in operations on machine words.
    func effort(for number: JSONNumber) -> Int { (number.digits.utf8.count + usefulZeros) * coefficient.wordCount }

    /// Whether `number` divided by this is an integer.
    func divides(_ number: JSONNumber) -> Bool {
        let decimal = number.decimal
        if decimal.isZero { return true }
        let shift = decimal.exponent - exponent
        // The number's coefficient has no trailing zero, so it contains no further factor of ten.
        guard shift >= 0 else { return false }
        var remainder = BigNatural()
        for digit in decimal.coefficient { remainder.append(digit: digit, modulo: coefficient) }
        // Zeros only add factors of two and five. More zeros than the coefficient has such factors change nothing.
        for _ in 0..<min(shift, usefulZeros) where !remainder.isZero {
            remainder.append(digit: 0, modulo: coefficient)
        }
        return remainder.isZero
    }
}

/// A natural number of any size, with only the operations that a remainder needs.
private struct BigNatural: Sendable {
    /// Least significant word first, without leading zero words.
    private var words: [UInt64] = []

    var isZero: Bool { words.isEmpty }
    var wordCount: Int { words.count }
    var bitWidth: Int { words.last.map { words.count * 64 - $0.leadingZeroBitCount } ?? 0 }

    /// Appends one decimal digit.
    mutating func append(digit: UInt8) {
        var carry = UInt64(digit)
        for index in words.indices {
            let (high, low) = words[index].multipliedFullWidth(by: 10)
            let (sum, overflow) = low.addingReportingOverflow(carry)
            words[index] = sum
            carry = high + (overflow ? 1 : 0)
        }
        if carry > 0 { words.append(carry) }
    }

    /// Appends one decimal digit and reduces the result modulo `divisor`.
    mutating func append(digit: UInt8, modulo divisor: BigNatural) {
        append(digit: digit)
        // The value was below the divisor, so it is now below ten times the divisor plus a digit.
        while !isSmaller(than: divisor) { subtract(divisor) }
    }

    private func isSmaller(than other: BigNatural) -> Bool {
        if words.count != other.words.count { return words.count < other.words.count }
        return words.reversed().lexicographicallyPrecedes(other.words.reversed())
    }

    private mutating func subtract(_ other: BigNatural) {
        var borrow: UInt64 = 0
        for index in words.indices {
            let (first, underflow) = words[index].subtractingReportingOverflow(borrow)
            let (second, underflowed) = first.subtractingReportingOverflow(
                index < other.words.count ? other.words[index] : 0
            )
            words[index] = second
            borrow = underflow || underflowed ? 1 : 0
        }
        while words.last == 0 { words.removeLast() }
    }
}
