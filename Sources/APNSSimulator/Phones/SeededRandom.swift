/// A small repeatable generator (SplitMix64): the same seed gives the same phones.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Lower-case hex text with `digits` digits.
    package mutating func hex(digits: Int) -> String {
        String(unsafeUninitializedCapacity: digits) { buffer in
            var word: UInt64 = 0
            for position in 0..<digits {
                if position.isMultiple(of: 16) {
                    word = next()
                }
                buffer[position] = Self.digits[Int(word & 15)]
                word >>= 4
            }
            return digits
        }
    }

    /// A random UUID (version 4) in canonical form: lower case, or upper case as ActivityKit prints ids.
    package mutating func uuid(uppercased: Bool = false) -> String {
        let words = [next(), next()]
        let text = String(unsafeUninitializedCapacity: 36) { buffer in
            var place = 0
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    buffer[place] = UInt8(ascii: "-")
                    place += 1
                }
                let value = Int(words[digit / 16] >> UInt64(digit % 16 * 4) & 15)
                // RFC 9562: the version, and the variant in the top two bits.
                let marked = digit == 12 ? 4 : digit == 16 ? 8 | value & 3 : value
                buffer[place] = Self.digits[marked]
                place += 1
            }
            return place
        }
        return uppercased ? text.uppercased() : text
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
