/// Dates and times of RFC 3339, section 5.6.
enum DateFormat {
    static func isDateTime(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 11, bytes[10] | 0x20 == UInt8(ascii: "t") else { return false }
        return isDate(bytes[..<10]) && isTime(bytes[11...])
    }

    /// `full-date`
    static func isDate(_ bytes: ArraySlice<UInt8>) -> Bool {
        var reader = DigitReader(bytes)
        guard let year = reader.number(digits: 4), reader.skip("-"), let month = reader.number(digits: 2),
            reader.skip("-"), let day = reader.number(digits: 2), reader.isAtEnd
        else { return false }
        return (1...12).contains(month) && (1...days(of: month, in: year)).contains(day)
    }

    /// `full-time`; a leap second is allowed only at the end of a day in UTC.
    static func isTime(_ bytes: ArraySlice<UInt8>) -> Bool {
        var reader = DigitReader(bytes)
        guard let hour = reader.number(digits: 2), reader.skip(":"), let minute = reader.number(digits: 2),
            reader.skip(":"), let second = reader.number(digits: 2), hour < 24, minute < 60, second < 61
        else { return false }
        if reader.skip(".") {
            guard reader.skipDigits() else { return false }
        }
        guard let offset = offset(&reader), reader.isAtEnd else { return false }
        let day = 24 * 60
        return second < 60 || (hour * 60 + minute - offset + day) % day == day - 1
    }

    /// `time-offset` in minutes.
    private static func offset(_ reader: inout DigitReader) -> Int? {
        if reader.skip("Z") || reader.skip("z") { return 0 }
        let isEast = reader.skip("+")
        guard isEast || reader.skip("-"), let hours = reader.number(digits: 2), reader.skip(":"),
            let minutes = reader.number(digits: 2), hours < 24, minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isEast ? 1 : -1)
    }

    private static func days(of month: Int, in year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}

/// Scans a text of digits and separators.
private struct DigitReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func number(digits: Int) -> Int? {
        let taken = rest.prefix(digits)
        guard taken.count == digits, taken.allSatisfy(\.isDigit) else { return nil }
        rest = rest.dropFirst(digits)
        return taken.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    mutating func skip(_ sign: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Skips digits; false if there is no digit.
    mutating func skipDigits() -> Bool {
        let digits = rest.prefix(while: \.isDigit)
        rest = rest.dropFirst(digits.count)
        return !digits.isEmpty
    }
}
