/// Key derivation with HMAC-SHA-256 (RFC 5869).
package enum HKDFSHA256 {
    /// The most bytes that one derivation may give: 255 blocks (RFC 5869 §2.3).
    package static let maximumByteCount = 255 * SHA256.byteCount

    /// Derives `count` bytes (0 to ``maximumByteCount``, else an error `operationFailed`) from `secret`.
    ///
    /// `secret` must already hold enough entropy: this is not for passwords. `salt` is public and best random; empty
    /// means a block of zeros, as the RFC says. `info` names what the derived key is for and keeps keys of different
    /// use apart.
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
