internal import JSON

/// How a `Date` is written, as `x-swift-type` says.
enum DateEncoding: String, CaseIterable {
    /// What `JSONDecoder` reads by default: seconds since 2001-01-01T00:00:00Z. Numbers that read as UNIX time are
    /// refused.
    case standard = "Date"
    /// The same, taken at its word.
    case secondsSince2001 = "Date(secondsSince2001)"
    case secondsSince1970 = "Date(secondsSince1970)"
    case millisecondsSince1970 = "Date(millisecondsSince1970)"
    /// A text of whole seconds, which every version of `JSONDecoder.DateDecodingStrategy.iso8601` reads.
    case iso8601 = "Date(iso8601)"

    /// From 1970 to 2001, in seconds.
    private static let referenceOffset: Int64 = 978_307_200
    /// The least number that reads as UNIX time: July 2017, before which there were no Live Activities to send it.
    /// Counted from 2001 it is July 2048, far beyond what a card shows in the 8 hours that it lives.
    private static let leastUnixTime: JSONNumber = 1_500_000_000
    /// The least number that reads as milliseconds where seconds are meant: the year 5138.
    private static let leastMilliseconds: JSONNumber = 100_000_000_000

    /// What stands for a point in time.
    func value(of time: TypedContent.Time) -> JSONValue {
        switch self {
        case .standard, .secondsSince2001:
            .number(Self.decimal(time.microseconds - Self.referenceOffset * 1_000_000, digits: 6))
        case .secondsSince1970: .number(Self.decimal(time.microseconds, digits: 6))
        case .millisecondsSince1970: .number(Self.decimal(time.microseconds, digits: 3))
        case .iso8601: .string(time.text.prefix(while: { $0 != "." && $0 != "Z" }) + "Z")
        }
    }

    /// What is wrong with a number, whoever wrote it; nil if it is decoded.
    func objection(to number: JSONNumber) -> String? {
        guard self == .iso8601 else { return nil }
        return "\(number.digits) is a number, but a text such as 2026-11-21T18:00:00Z is declared"
    }

    /// Why a caller who writes a number most likely means another time than it stands for; nil if it is taken. What a
    /// text was turned into is right, however far ahead it lies.
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

    /// What a number counts; nil where times are no numbers. One number stands for other times on other scales.
    var scale: TypedContent.TimeScale? {
        switch self {
        case .standard, .secondsSince2001: .secondsSince2001
        case .secondsSince1970: .secondsSince1970
        case .millisecondsSince1970: .millisecondsSince1970
        case .iso8601: nil
        }
    }

    /// A number of microseconds divided by 10 to the power of `digits`, exactly.
    private static func decimal(_ value: Int64, digits: Int) -> JSONNumber {
        let unit: UInt64 = digits == 6 ? 1_000_000 : 1_000
        let (whole, rest) = value.magnitude.quotientAndRemainder(dividingBy: unit)
        var fraction = String(repeating: "0", count: digits - String(rest).count) + String(rest)
        while fraction.hasSuffix("0") { fraction.removeLast() }
        let text = (value < 0 ? "-" : "") + String(whole) + (fraction.isEmpty ? "" : "." + fraction)
        return JSONNumber(digits: text) ?? 0
    }
}
