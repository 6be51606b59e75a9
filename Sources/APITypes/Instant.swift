/// A point in time: microseconds since 1970-01-01T00:00:00Z, the precision of Postgres' `timestamptz`.
///
/// The JSON form is RFC 3339. The years 0001 to 9999 are valid.
package struct Instant: Sendable, Hashable, Comparable {
    /// Microseconds since 1970; negative before.
    package let microseconds: Int64

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The range of the years 0001 to 9999.
    package static let bounds: ClosedRange<Int64> = -62_135_596_800_000_000...253_402_300_799_999_999

    /// Whole UNIX seconds.
    package init(unixSeconds: Int64) {
        self.microseconds = unixSeconds * 1_000_000
    }

    /// UNIX seconds, rounded down.
    package var unixSeconds: Int64 { Self.floor(microseconds, by: 1_000_000).quotient }

    package static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

    private static func floor(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

// MARK: RFC 3339

extension Instant: LosslessStringConvertible {
    /// Reads `2022-12-18T15:00:00.123456+01:00`.
    ///
    /// Accepts `t` and `z` in lower case, and a space instead of `T` (RFC 3339 §5.6). Drops digits beyond microseconds.
    /// A leap second counts as the first second of the next minute. Returns nil for text that is not a valid time (such
    /// as 30 February) and for years outside 0001 to 9999 in UTC.
    package init?(_ text: String) {
        var scanner = TimeScanner(bytes: Array(text.utf8))
        guard let year = scanner.number(digits: 4), year > 0, scanner.take("-"),
            let month = scanner.number(digits: 2), (1...12).contains(month), scanner.take("-"),
            let day = scanner.number(digits: 2), (1...Self.days(in: month, of: year)).contains(day),
            scanner.takeOne(of: "Tt "),
            let hour = scanner.number(digits: 2), hour < 24, scanner.take(":"),
            let minute = scanner.number(digits: 2), minute < 60, scanner.take(":"),
            let second = scanner.number(digits: 2), second <= 60,
            let fraction = scanner.fraction(),
            let offset = scanner.offset(),
            scanner.isAtEnd
        else { return nil }
        let days = Self.days(toYear: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.init(microseconds: seconds * 1_000_000 + fraction)
        guard Self.bounds.contains(microseconds) else { return nil }
    }

    /// RFC 3339 in UTC. A zero fraction is left out; other fractions have three or six digits.
    package var description: String {
        let (seconds, micros) = Self.floor(microseconds, by: 1_000_000)
        let (days, secondOfDay) = Self.floor(seconds, by: 86_400)
        let (year, month, day) = Self.date(ofDay: days)
        let date = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let hour = Self.padded(secondOfDay / 3_600, 2)
        let minute = Self.padded(secondOfDay / 60 % 60, 2)
        let second = Self.padded(secondOfDay % 60, 2)
        let fraction =
            switch micros {
            case 0: ""
            case let micros where micros % 1_000 == 0: "." + Self.padded(micros / 1_000, 3)
            default: "." + Self.padded(micros, 6)
            }
        return "\(date)T\(hour):\(minute):\(second)\(fraction)Z"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

// MARK: Calendar

extension Instant {
    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar. Years start in March here, so that the leap day is the
    /// last day of a year and every month starts at a fixed offset.
    private static func days(toYear year: Int64, month: Int64, day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = month > 2 ? month - 3 : month + 9
        let (era, yearOfEra) = floor(marchYear, by: 400)
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The date that is `day` days after 1970-01-01.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floor(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}

/// Reads the ASCII bytes of a time from left to right.
private struct TimeScanner {
    let bytes: [UInt8]
    var index = 0

    var isAtEnd: Bool { index == bytes.count }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard index < bytes.count, Unicode.Scalar(bytes[index]) == scalar else { return false }
        index += 1
        return true
    }

    mutating func takeOne(of scalars: String) -> Bool {
        scalars.unicodeScalars.contains { take($0) }
    }

    /// Reads exactly `count` digits.
    mutating func number(digits count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Reads an optional fraction in microseconds: 0 without one, nil for a point without digits.
    mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        guard var micros = digit().map({ $0 * 100_000 }) else { return nil }
        var unit: Int64 = 10_000
        while let digit = digit() {
            micros += digit * unit
            unit /= 10
        }
        return micros
    }

    /// Reads the UTC offset in seconds, positive to the east.
    mutating func offset() -> Int64? {
        if takeOne(of: "Zz") { return 0 }
        let sign: Int64 = take("-") ? -1 : 1
        if sign > 0, !take("+") { return nil }
        guard let hours = number(digits: 2), hours < 24, take(":"), let minutes = number(digits: 2), minutes < 60 else {
            return nil
        }
        return sign * (hours * 3_600 + minutes * 60)
    }

    private mutating func digit() -> Int64? {
        guard index < bytes.count, (0x30...0x39).contains(bytes[index]) else { return nil }
        defer { index += 1 }
        return Int64(bytes[index] - 0x30)
    }
}
