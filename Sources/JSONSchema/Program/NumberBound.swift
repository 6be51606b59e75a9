internal import JSON

/// The limit of `minimum` and its kin, taken apart once.
struct NumberBound: Sendable {
    /// As written, for messages.
    let digits: String
    private let int64: Int64?
    private let decimal: JSONDecimal

    init(_ number: JSONNumber) {
        digits = number.digits
        int64 = number.int64
        decimal = number.decimal
    }

    /// Whether a number is below the limit.
    func isAbove(_ number: JSONNumber) -> Bool {
        if let int64, let value = number.plainInteger { return value < int64 }
        return number.decimal < decimal
    }

    /// Whether a number is beyond the limit.
    func isBelow(_ number: JSONNumber) -> Bool {
        if let int64, let value = number.plainInteger { return value > int64 }
        return decimal < number.decimal
    }
}
