internal import JSON

/// The value of `multipleOf`, which divides numbers of any size exactly.
struct DecimalDivisor: Sendable {
    /// The most significant digits that it may have, so that remainders fit a machine word.
    static let maximumDigits = 18

    /// The digits as written, for messages.
    let digits: String
    private let coefficient: UInt128
    private let exponent: Int

    /// Takes a number above zero; `nil` for any other and for one with too many significant digits.
    init?(_ number: JSONNumber) {
        let decimal = number.decimal
        guard !decimal.isZero, !decimal.isNegative, decimal.coefficient.count <= Self.maximumDigits else { return nil }
        digits = number.digits
        coefficient = decimal.coefficient.reduce(0) { $0 * 10 + UInt128($1) }
        exponent = decimal.exponent
    }

    /// Whether `number` divided by this is an integer.
    func divides(_ number: JSONNumber) -> Bool {
        let decimal = number.decimal
        if decimal.isZero { return true }
        let shift = decimal.exponent - exponent
        // The number's coefficient has no trailing zero, so it holds no further factor of ten to give away.
        guard shift >= 0 else { return false }
        let remainder = decimal.coefficient.reduce(UInt128(0)) { ($0 * 10 + UInt128($1)) % coefficient }
        return remainder * powerOfTen(shift) % coefficient == 0
    }

    /// 10^power modulo the coefficient, by squaring: the work grows with the digits of the power only.
    private func powerOfTen(_ power: Int) -> UInt128 {
        var (result, square, left) = (UInt128(1) % coefficient, UInt128(10) % coefficient, power)
        while left > 0 {
            if left & 1 == 1 { result = result * square % coefficient }
            square = square * square % coefficient
            left >>= 1
        }
        return result
    }
}
