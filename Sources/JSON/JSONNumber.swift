/// A JSON number that keeps its digits as written.
///
/// Equality and order are those of the mathematical value, exact at any size. The exponent has at most
/// ``maximumExponentDigits``, so arithmetic on it fits `Int`. The cost of every operation is bounded by the length of
/// the text, never by the size of the value.
package struct JSONNumber: Sendable {
    /// The maximum number of digits of an exponent, without leading zeros.
    package static let maximumExponentDigits = 9

    /// The number as written, in JSON's grammar.
    package let digits: String

    /// A number from text outside a document; `nil` if it is not a JSON number or its exponent is too large.
    package init?(digits: String) {
        let bytes = digits.utf8.span
        var scanner = NumberScanner(position: 0)
        guard case .number = scanner.scan(bytes), scanner.position == bytes.count else { return nil }
        self.digits = digits
    }

    init(scanned digits: String) { self.digits = digits }

    /// An integer.
    package init(_ value: some BinaryInteger) { digits = String(value) }

    /// The shortest digits for that value; `nil` for infinity and NaN, which JSON cannot express.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        digits = String(describing: value)
    }

    /// The exact value, if it fits `Int64`. `1.0` and `1e3` are integers too, `1.5` is not.
    package var int64: Int64? { plainInteger ?? decimal.int64 }

    /// The nearest `Double`; `nil` beyond its range.
    package var double: Double? {
        guard let value = Double(digits), value.isFinite else { return nil }
        return value
    }

    /// Whether the value has no fractional part, at any size.
    package var isInteger: Bool { plainInteger != nil || decimal.isInteger }

    /// The value, if it is written as an optional sign and up to 18 digits. Nearly every integer is.
    package var plainInteger: Int64? {
        let bytes = digits.utf8.span
        let isNegative = bytes.count > 0 && bytes[0] == UInt8(ascii: "-")
        guard bytes.count <= 18 + (isNegative ? 1 : 0) else { return nil }
        var value: Int64 = 0
        for index in (isNegative ? 1 : 0)..<bytes.count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value &* 10 &+ Int64(digit)
        }
        return isNegative ? -value : value
    }

    /// The value in units of 10^-`fractionDigits`. `nil` if it is written with an exponent or with too many digits for
    /// `Int64`, which is rare.
    package var fixedPoint: (units: Int64, fractionDigits: Int)? {
        let bytes = digits.utf8.span
        let isNegative = bytes.count > 0 && bytes[0] == UInt8(ascii: "-")
        guard bytes.count <= 18 + (isNegative ? 1 : 0) else { return nil }
        var units: Int64 = 0
        var point: Int?
        for index in (isNegative ? 1 : 0)..<bytes.count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            if digit < 10 {
                units = units &* 10 &+ Int64(digit)
            } else if bytes[index] == UInt8(ascii: ".") {
                point = index
            } else {
                return nil
            }
        }
        return (isNegative ? -units : units, point.map { bytes.count - 1 - $0 } ?? 0)
    }

    /// The value in canonical decimal form.
    package var decimal: JSONDecimal { JSONDecimal(scanned: digits) }
}

extension JSONNumber: Hashable {
    package static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.digits == right.digits { return true }
        if let left = left.plainInteger, let right = right.plainInteger { return left == right }
        return left.decimal == right.decimal
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(decimal) }
}

extension JSONNumber: Comparable {
    package static func < (left: JSONNumber, right: JSONNumber) -> Bool {
        if let left = left.plainInteger, let right = right.plainInteger { return left < right }
        return left.decimal < right.decimal
    }
}
