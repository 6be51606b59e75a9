package import APITypes
import Foundation
package import TestSupport

/// The wall clock, which the database on this machine shares.
package enum Clock {
    package static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    package static func inSeconds(_ seconds: Double) -> Instant {
        Instant(microseconds: Int64((Date().timeIntervalSince1970 + seconds) * 1_000_000))
    }
}

extension SeededRandom {
    /// A pause of up to so many milliseconds.
    package mutating func pause(upTo milliseconds: Int) -> Duration {
        .milliseconds(Int.random(in: 0...milliseconds, using: &self))
    }
}
