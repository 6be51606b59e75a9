internal import JSON

/// How a `Date` is encoded in JSON. The schema names the encoding in `x-swift-type`.
enum DateEncoding: String, CaseIterable {
    /// `JSONDecoder`'s default: seconds since 2001-01-01T00:00:00Z. A number that looks like UNIX time is refused.
    case standard = "Date"
    /// The same, but every number is accepted.
    case secondsSince2001 = "Date(secondsSince2001)"
    case secondsSince1970 = "Date(secondsSince1970)"
    case millisecondsSince1970 = "Date(millisecondsSince1970)"
    /// A string with whole seconds. Every version of `JSONDecoder.DateDecodingStrategy.iso8601` reads it.
    case iso8601 = "Date(iso8601)"

    /// From 1970 to 2001, in seconds.
    private static let referenceOffset: Int64 = 978_307_200
    /// The least number that looks like UNIX time: July 2017, before Live Activities existed. Counted from 2001 it is
    /// July 2048, and no card shows a time that far ahead.
    private static let leastUnixTime: JSONNumber = 1_500_000_000
    /// The least number that looks like milliseconds where seconds are expected: the year 5138.
    private static let leastMilliseconds: JSONNumber = 100_000_000_000

    /// Encodes a point in time.
    func value(of time: TypedContent.Time) -> JSONValue {
        switch self {
        case .standard, .secondsSince2001:
            .number(Self.decimal(time.microseconds - Self.referenceOffset * 1_000_000, digits: 6))
        case .secondsSince1970: .number(Self.decimal(time.microseconds, digits: 6))
        case .millisecondsSince1970: .number(Self.decimal(time.microseconds, digits: 3))
        case .iso8601: .string(time.text.prefix(while: { $0 != "." && $0 != "Z" }) + "Z")
        }
    }

    /// The error if a number cannot be decoded in this encoding, whoever wrote it; otherwise `nil`.
    func objection(to number: JSONNumber) -> String? {
        guard self == .iso8601 else { return nil }
        return "\(number.digits) is a number, but a text such as 2026-11-21T18:00:00Z is declared"
    }

    /// The error if the caller most likely meant another time with this number; otherwise `nil`. Do not use it for a
    /// number that Tally made from an RFC 3339 string: that is right, however far ahead it is.
    func doubt(about number: JSONNumber) -> String? {
        switch self {
        case .standard:
            guard number >= Self.leastUnixTime else { return nil }
            return "\(number.digits) reads as UNIX time, but a Date is seconds since 2001; send an RFC 3339 text, "
                + "or subtract \(Self.referenceOffset)"
        case .secondsSince1970:
            guard number >= Self.leastMilliseconds else { return nil }
            return "\(number.digits) reads as milliseconds, but seconds since 1970 are declared"
        case .secondsSince2001, .millisecondsSince1970, .iso8601: return nil
        }
    }

    /// The JSON types that it is decoded from.
    var kinds: Set<String> { self == .iso8601 ? ["string"] : ["number", "integer"] }

    /// The unit and epoch of a number; `nil` if times are not numbers. The same number means a different time on
    /// another scale.
    var scale: TypedContent.TimeScale? {
        switch self {
        case .standard, .secondsSince2001: .secondsSince2001
        case .secondsSince1970: .secondsSince1970
        case .millisecondsSince1970: .millisecondsSince1970
        case .iso8601: nil
        }
    }

    /// A number of microseconds divided by 10^`digits`, exactly.
    private static func decimal(_ value: Int64, digits: Int) -> JSONNumber {
        let unit: UInt64 = digits == 6 ? 1_000_000 : 1_000
        let (whole, rest) = value.magnitude.quotientAndRemainder(dividingBy: unit)
        var fraction = String(repeating: "0", count: digits - String(rest).count) + String(rest)
        while fraction.hasSuffix("0") { fraction.removeLast() }
        let text = (value < 0 ? "-" : "") + String(whole) + (fraction.isEmpty ? "" : "." + fraction)
        return JSONNumber(digits: text) ?? 0
    }
}
