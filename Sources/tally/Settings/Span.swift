import APITypes
import Foundation

/// A length of time on the command line: `90`, `90s`, `10m`, `1.5h`, `7d`. Without a unit, it is in seconds.
struct Span: CommandLineValue, Equatable {
    /// 0 to 10⁹, which is 31 years.
    let seconds: Double

    /// Rounded up, so that no positive span becomes 0.
    var wholeSeconds: Int64 { Int64(seconds.rounded(.up)) }

    init?(commandLine text: String) {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits) else {
            return nil
        }
        let seconds = number * (unit ?? 1)
        guard seconds <= 1e9 else { return nil }
        self.seconds = seconds
    }
}

/// A moment on the command line: an RFC 3339 time, or a span that ends now.
enum PointInTime: CommandLineValue, Equatable {
    case time(Instant)
    case ago(Span)

    init?(commandLine text: String) {
        if let span = Span(commandLine: text) {
            self = .ago(span)
        } else if let time = Instant(text) {
            self = .time(time)
        } else {
            return nil
        }
    }

    func instant(now: Date = Date()) -> Instant {
        switch self {
        case .time(let time): time
        case .ago(let span): Instant(microseconds: Int64((now.timeIntervalSince1970 - span.seconds) * 1_000_000))
        }
    }
}

extension Instant {
    /// The time on this machine's clock.
    static var now: Instant { Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) }
}
