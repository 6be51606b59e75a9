package import Foundation

/// How long a server wants to be left alone.
package enum RetryAfter {
    /// - Parameters:
    ///   - value: The header `Retry-After`: a number of seconds, or a time.
    ///   - sentAt: The header `Date`. With it, a wrong clock of the phone does no harm.
    ///   - now: The phone's clock.
    /// - Returns: Seconds; nil if the header is absent or says nothing that HTTP allows.
    package static func seconds(_ value: String?, sentAt: String?, now: Date) -> Double? {
        guard let value = value?.trimmingCharacters(in: .whitespaces) else { return nil }
        if let seconds = UInt32(value) { return Double(seconds) }
        guard let time = time(value) else { return nil }
        return max(0, time.timeIntervalSince(sentAt.flatMap { Self.time($0) } ?? now))
    }

    /// A time as HTTP writes it (RFC 9110, 5.6.7). Nobody sends the two obsolete forms.
    private static func time(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.date(from: text)
    }
}
