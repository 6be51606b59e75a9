internal import APITypes
internal import Foundation

extension Instant {
    /// Nil for a date that is not finite or is hundreds of thousands of years away.
    init?(exactly date: Date) {
        guard let microseconds = Int64(exactly: (date.timeIntervalSince1970 * 1_000_000).rounded()) else { return nil }
        self.init(microseconds: microseconds)
    }
}

extension Date {
    init(_ instant: Instant) {
        self.init(timeIntervalSince1970: Double(instant.microseconds) / 1_000_000)
    }
}
