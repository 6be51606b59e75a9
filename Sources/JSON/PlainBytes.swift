/// Bytes that need no escape inside a JSON string: all except control characters, `"` and `\` (RFC 8259 §7).
enum PlainBytes {
    /// Skips plain bytes, eight at a time while possible.
    ///
    /// - Returns: The position of the first byte from `start` on that is not plain, or the end of the bytes; and
    ///   whether all skipped bytes are ASCII.
    static func skip(_ bytes: Span<UInt8>, from start: Int) -> (end: Int, areASCII: Bool) {
        // Local variables, because the loops can hold them in registers.
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

    /// Whether a byte needs no escape.
    static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private static func isASCII(_ bytes: UInt64) -> Bool { bytes & 0x8080_8080_8080_8080 == 0 }

    /// The highest bit of every byte that is not plain. Only the lowest set bit is reliable, because a borrow can set
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
