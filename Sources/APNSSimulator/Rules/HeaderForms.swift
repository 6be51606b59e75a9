/// Checks the form of header values.
enum HeaderForms {
    /// A UUID in canonical form: 32 lower-case hex digits in groups of 8, 4, 4, 4 and 12.
    static func isCanonicalUUID(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard utf8.count == 36 else { return false }
        for (position, byte) in utf8.enumerated() {
            let isDash = position == 8 || position == 13 || position == 18 || position == 23
            guard isDash ? byte == UInt8(ascii: "-") : isLowerHex(byte) else { return false }
        }
        return true
    }

    /// UNIX seconds or 0, in decimal digits.
    static func isExpiration(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && Int64(text) != nil
    }

    /// Hex text of any length with an even number of digits. Apple: do not assume a token length.
    static func isTokenText(_ text: String) -> Bool {
        guard !text.isEmpty, text.utf8.count.isMultiple(of: 2) else { return false }
        for byte in text.utf8 {
            let isDigit = byte &- UInt8(ascii: "0") < 10
            // Setting this bit turns letters into lower case.
            guard isDigit || (byte | 0x20) &- UInt8(ascii: "a") < 6 else { return false }
        }
        return true
    }

    /// Padded standard base64 of at most 256 characters, the form of a channel id. Apple publishes no length.
    static func isChannelID(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard (4...256).contains(utf8.count), utf8.count.isMultiple(of: 4) else { return false }
        let padding = utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return padding <= 2 && utf8.dropLast(padding).allSatisfy(isBase64)
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
