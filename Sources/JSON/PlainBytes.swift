/// The bytes that stand for themselves inside a JSON string: all but control characters, `"` and `\` (RFC 8259 §7).
enum PlainBytes {
    /// Passes over plain bytes, eight at a time where there are as many.
    ///
    /// - Returns: Where the first byte from `start` on is that is not plain, else the end; whether all before it are
    ///   ASCII.
    static func skip(_ bytes: Span<UInt8>, from start: Int) -> (end: Int, areASCII: Bool) {
        // In variables of its own, which the loops keep in registers.
        var (all, place): (UInt64, Int) = (0, start)
        while place + 8 <= bytes.count {
            let word = UInt64(
                littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self)
            )
            let special = specialBytes(of: word)
            guard special == 0 else {
                let plainBits = UInt64(special.trailingZeroBitCount) & ~7
                return (place + Int(plainBits / 8), isASCII(all | word & (1 << plainBits &- 1)))
            }
            all |= word
            place += 8
        }
        while place < bytes.count, isPlain(bytes[place]) {
            all |= UInt64(bytes[place])
            place += 1
        }
        return (place, isASCII(all))
    }

    /// Whether a byte stands for itself.
    static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func isASCII(_ bytes: UInt64) -> Bool { bytes & 0x8080_8080_8080_8080 == 0 }

    /// The highest bit of every byte that does not stand for itself. Only the lowest of them is sure: a borrow can set
    /// others.
    private static func specialBytes(of word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let zeros = ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        let controls = (word &- (ones &* 0x20)) & ~word
        return (zeros | controls) & 0x8080_8080_8080_8080
    }
}
