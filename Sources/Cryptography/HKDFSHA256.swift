/// Key derivation with HMAC-SHA-256 (RFC 5869).
package enum HKDFSHA256 {
    /// The maximum number of bytes of one derivation: 255 blocks (RFC 5869 §2.3).
    package static let maximumByteCount = 255 * SHA256.byteCount

    /// Derives `count` bytes from `secret`. `count` is 0 to ``maximumByteCount``; any other throws `operationFailed`.
    ///
    /// `secret` must already have enough entropy, so passwords are not allowed. `salt` is public and ideally random; an
    /// empty one means a block of zeros (RFC 5869). `info` names the purpose of the derived key and separates keys of
    /// different purposes.
    package static func derive(
        from secret: [UInt8],
        salt: [UInt8] = [],
        info: [UInt8],
        count: Int
    ) throws(CryptographyError) -> [UInt8] {
        guard (0...maximumByteCount).contains(count) else {
            throw CryptographyError(code: .operationFailed, message: "HKDF cannot derive \(count) bytes")
        }
        let key = HMACSHA256.authenticationCode(for: secret, key: salt)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var counter: UInt8 = 0
        while output.count < count {
            counter += 1
            block = HMACSHA256.authenticationCode(for: block + info + [counter], key: key)
            output += block
        }
        return Array(output.prefix(count))
    }
}
