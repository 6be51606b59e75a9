internal import JSON

/// Numbers that fit a Swift type, but that `JSONDecoder` cannot read because of their spelling.
enum NumberReading {
    private static let exactDouble: JSONNumber = 9_007_199_254_740_992
    private static let maximumDecimalDigits = 38
    private static let maximumDecimalExponent = 60

    /// The error if this type cannot be read from the number's spelling; otherwise `nil`.
    static func objection(to number: JSONNumber, as type: String) -> String? {
        switch type {
        case _ where BuiltInType.isInteger(type): integer(number, type)
        case "Double", "Date":
            floatingPoint(number, Double(number.digits).map { $0.isFinite ? $0.magnitude : nil } ?? nil, type)
        case "Float":
            floatingPoint(number, Float(number.digits).map { $0.isFinite ? Double($0.magnitude) : nil } ?? nil, type)
        case "Decimal": decimal(number)
        default: nil
        }
    }

    /// `JSONDecoder` reads an integer with a point or an exponent through `Double`, which fails near the ends of the
    /// range.
    private static func integer(_ number: JSONNumber, _ type: String) -> String? {
        guard !number.isPlain, number > exactDouble || number < JSONNumber(-9_007_199_254_740_992) else { return nil }
        return "\(number.digits) must be written without a point or an exponent to be read as \(type)"
    }

    private static func floatingPoint(_ number: JSONNumber, _ magnitude: Double?, _ type: String) -> String? {
        guard let magnitude else { return "\(number.digits) is beyond what \(type) holds" }
        guard magnitude == 0, !number.decimal.isZero else { return nil }
        return "\(number.digits) is nearer to 0 than what \(type) holds"
    }

    private static func decimal(_ number: JSONNumber) -> String? {
        let parts = number.digits.lowercased().split(separator: "e", maxSplits: 1)
        let digits = parts.first?.utf8.count { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? 0
        let exponent = parts.count > 1 ? Int(parts[1]) ?? Int.max : 0
        guard digits > maximumDecimalDigits || exponent.magnitude > UInt(maximumDecimalExponent) else { return nil }
        return "\(number.digits.prefix(60)) has more than \(maximumDecimalDigits) digits or an exponent beyond "
            + "\(maximumDecimalExponent), and Decimal may not read it"
    }
}

extension JSONNumber {
    /// Whether it is only an optional sign and digits.
    fileprivate var isPlain: Bool {
        !digits.utf8.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }
    }
}
