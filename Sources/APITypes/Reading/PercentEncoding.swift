/// Percent-encoding of path segments and query values (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Encodes everything but unreserved characters.
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return encoded
    }

    /// Decodes `encoded`. Returns nil if a `%` lacks two hex digits, or if the bytes are not UTF-8. In a form
    /// (`application/x-www-form-urlencoded`) `+` is a blank.
    package static func decode(_ encoded: some StringProtocol, isForm: Bool = false) -> String? {
        guard isForm || encoded.utf8.contains(UInt8(ascii: "%")) else { return String(encoded) }
        var bytes: [UInt8] = []
        var rest = encoded.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "+") where isForm: bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = hexDigit(rest.next()), let low = hexDigit(rest.next()) else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8?) -> UInt8? {
        byte.flatMap { Character(Unicode.Scalar($0)).hexDigitValue }.map { UInt8($0) }
    }
}
