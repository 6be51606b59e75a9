/// A decimal number of any size in canonical form: sign × coefficient × 10^exponent.
///
/// The coefficient has no leading or trailing zeros. Zero has an empty coefficient, exponent 0 and no sign. So two
/// values are equal exactly if their parts are equal.
package struct JSONDecimal: Sendable, Hashable {
    /// Whether the value is below zero.
    package let isNegative: Bool
    /// The digits 0…9 of the coefficient, the most significant first.
    package let coefficient: [UInt8]
    /// The power of ten of the last digit.
    package let exponent: Int

    /// The value of a text that is known to follow JSON's grammar.
    init(scanned text: String) {
        var coefficient: [UInt8] = []
        coefficient.reserveCapacity(text.utf8.count)
        var isNegative = false
        var isFraction = false
        var fractionDigits = 0
        var exponent = 0
        var exponentIsNegative = false
        var inExponent = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"):
                if inExponent { exponentIsNegative = true } else { isNegative = true }
            case UInt8(ascii: "+"):
                break
            case UInt8(ascii: "."):
                isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                inExponent = true
            default:
                let digit = byte &- UInt8(ascii: "0")
                if inExponent {
                    exponent = exponent * 10 + Int(digit)
                } else {
                    if isFraction { fractionDigits += 1 }
                    if digit != 0 || !coefficient.isEmpty { coefficient.append(digit) }
                }
            }
        }
        if exponentIsNegative { exponent = -exponent }
        exponent -= fractionDigits
        while coefficient.last == 0 {
            coefficient.removeLast()
            exponent += 1
        }
        self.isNegative = isNegative && !coefficient.isEmpty
        self.coefficient = coefficient
        self.exponent = coefficient.isEmpty ? 0 : exponent
    }

    /// Whether the value is zero.
    package var isZero: Bool { coefficient.isEmpty }

    /// Whether the value has no fractional part.
    package var isInteger: Bool { exponent >= 0 }

    /// The exact value, if it fits `Int64`.
    package var int64: Int64? {
        // `Int64` has at most 19 digits, so the loops below are short for any exponent.
        guard isInteger, coefficient.count + exponent <= 19 else { return nil }
        var value: Int64 = 0
        for digit in coefficient {
            guard let next = Self.appending(Int64(digit), to: value, negative: isNegative) else { return nil }
            value = next
        }
        for _ in 0..<exponent {
            guard let next = Self.appending(0, to: value, negative: isNegative) else { return nil }
            value = next
        }
        return value
    }

    private static func appending(_ digit: Int64, to value: Int64, negative: Bool) -> Int64? {
        let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
        guard !overflow else { return nil }
        let (sum, overflowed) =
            negative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
        return overflowed ? nil : sum
    }
}

extension JSONDecimal: Comparable {
    package static func < (left: JSONDecimal, right: JSONDecimal) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? right.isSmallerInMagnitude(than: left) : left.isSmallerInMagnitude(than: right)
    }

    private func isSmallerInMagnitude(than other: JSONDecimal) -> Bool {
        if isZero || other.isZero { return !other.isZero }
        // The position of the first digit decides. If it is equal, digits compare from the left, and a missing digit is
        // zero.
        let (mine, its) = (coefficient.count + exponent, other.coefficient.count + other.exponent)
        if mine != its { return mine < its }
        return coefficient.lexicographicallyPrecedes(other.coefficient)
    }
}
