import APITypes
import Foundation

/// The wall clock, which the database on this machine shares.
enum Clock {
    static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    static func inSeconds(_ seconds: Double) -> Instant {
        Instant(microseconds: Int64((Date().timeIntervalSince1970 + seconds) * 1_000_000))
    }
}

/// Chance that a seed repeats (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A pause of up to so many milliseconds.
    mutating func pause(upTo milliseconds: Int) -> Duration {
        .milliseconds(Int.random(in: 0...milliseconds, using: &self))
    }
}
