internal import JSON

/// The limit of `minimum` and similar keywords, parsed once.
struct NumberBound: Sendable {
    /// The limit as written, for messages.
    let digits: String
    private let int64: Int64?
    private let decimal: JSONDecimal

    init(_ number: JSONNumber) {
        digits = number.digits
        int64 = number.int64
        decimal = number.decimal
    }

    /// Whether the limit is above a number.
    func isAbove(_ number: JSONNumber) -> Bool {
        if let (units, limit) = inUnits(of: number) { return units < limit }
        return number.decimal < decimal
    }

    /// Whether the limit is below a number.
    func isBelow(_ number: JSONNumber) -> Bool {
        if let (units, limit) = inUnits(of: number) { return units > limit }
        return decimal < number.decimal
    }

    /// A number and the limit as whole multiples of a common unit; `nil` if `Int64` cannot represent them.
    private func inUnits(of number: JSONNumber) -> (units: Int64, limit: Int64)? {
        guard var limit = int64, let (units, fractionDigits) = number.fixedPoint else { return nil }
        for _ in 0..<fractionDigits {
            let (product, isBeyond) = limit.multipliedReportingOverflow(by: 10)
            guard !isBeyond else { return nil }
            limit = product
        }
        return (units, limit)
    }
}
