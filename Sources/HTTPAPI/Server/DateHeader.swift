import Glibc
import Synchronization

/// The `Date` header of answers. The text is rebuilt once a second.
final class DateHeader: Sendable {
    private let latest = Mutex((second: 0, text: text(0)))

    /// The text of the current time.
    var now: String {
        let second = time(nil)
        return latest.withLock { latest in
            if latest.second != second { latest = (second, Self.text(second)) }
            return latest.text
        }
    }

    /// An HTTP date (RFC 9110 §5.6.7) from seconds since 1970.
    static func text(_ second: Int) -> String {
        var second = second
        var parts = tm()
        // Fails only for years that exceed an int.
        gmtime_r(&second, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
        return "\(day) \(parts.tm_year + 1900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
