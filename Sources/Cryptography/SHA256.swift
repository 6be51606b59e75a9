internal import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The number of bytes of a digest.
    package static let byteCount = 32

    /// Fetched once. `EVP_sha256()` would search OpenSSL's providers for every digest, which takes longer than hashing
    /// a short text (OpenSSL manual, crypto(7), "Implicit fetching").
    // Unsafe for the compiler, but correct: a fetched algorithm never changes, and any thread may read it.
    private static nonisolated(unsafe) let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil)

    /// The digest of `bytes`, 32 bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        let result = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, algorithm, nil)
        // It fails only if OpenSSL's own provider is missing. Code that relies on digests must not continue then.
        precondition(result == 1, "OpenSSL offers no SHA-256")
        return digest
    }

    /// The digest of the UTF-8 bytes of `text`, 32 bytes.
    package static func hash(_ text: String) -> [UInt8] {
        hash(Array(text.utf8))
    }
}
