/// Percent-encoding of path segments and query values (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Decodes `encoded`. Returns nil if a `%` lacks two hex digits, or if the bytes are not UTF-8.
    package static func decode(_ encoded: some StringProtocol) -> String? {
        guard encoded.utf8.contains(UInt8(ascii: "%")) else { return String(encoded) }
        var bytes: [UInt8] = []
        var rest = encoded.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = hexDigit(rest.next()), let low = hexDigit(rest.next()) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8?) -> UInt8? {
        switch byte {
        case let byte? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte): byte - UInt8(ascii: "0")
        case let byte? where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte): byte - UInt8(ascii: "a") + 10
        case let byte? where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
