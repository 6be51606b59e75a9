internal import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The number of bytes of a digest.
    package static let byteCount = 32

    /// The digest of `bytes`, 32 bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        let result = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        // Fails only where OpenSSL's own provider is missing; nothing that relies on digests may go on then.
        precondition(result == 1, "OpenSSL offers no SHA-256")
        return digest
    }

    /// The digest of the UTF-8 bytes of `text`, 32 bytes.
    package static func hash(_ text: String) -> [UInt8] {
        hash(Array(text.utf8))
    }
}
