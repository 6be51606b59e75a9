/// A start, update or device token, written as hex text. Its bytes are opaque, and Apple does not fix their number
/// (Apple, ActivityKit).
package struct PushToken: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of bytes.
    package static let maximumBytes = 256

    /// The token itself, 1 to ``maximumBytes`` bytes.
    package let bytes: [UInt8]

    /// Takes raw bytes; `nil` if there is no byte or too many.
    package init?(bytes: [UInt8]) {
        guard (1...Self.maximumBytes).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Reads 2 to 512 hexadecimal digits, an even number, in either case; `nil` for anything else.
    package init?(hex: String) {
        let digits = Array(hex.utf8)
        guard digits.count.isMultiple(of: 2), (1...Self.maximumBytes).contains(digits.count / 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Self.value(of: digits[index]), let low = Self.value(of: digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// The token in lower-case hex, as the request path needs it.
    package var hex: String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            for (index, byte) in bytes.enumerated() {
                buffer[index * 2] = Self.digit(byte >> 4)
                buffer[index * 2 + 1] = Self.digit(byte & 0x0F)
            }
            return bytes.count * 2
        }
    }

    /// The first four digits only, because tokens must not be logged.
    package var description: String { String(hex.prefix(4)) + "…" }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}

/// Hides the bytes, like ``description``.
extension PushToken: CustomDebugStringConvertible, CustomReflectable {
    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
