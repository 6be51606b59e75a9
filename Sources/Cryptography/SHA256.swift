internal import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The number of bytes of a digest.
    package static let byteCount = 32

    /// Looked up once. `EVP_sha256()` would have every digest look through OpenSSL's providers, which takes longer than
    /// hashing a short text does (OpenSSL manual, crypto(7), "Implicit fetching").
    // Not checked by the compiler: what was fetched never changes, and any thread may read it.
    private static nonisolated(unsafe) let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil)

    /// The digest of `bytes`, 32 bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        let result = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, algorithm, nil)
        // Fails only where OpenSSL's own provider is missing; nothing that relies on digests may go on then.
        precondition(result == 1, "OpenSSL offers no SHA-256")
        return digest
    }

    /// The digest of the UTF-8 bytes of `text`, 32 bytes.
    package static func hash(_ text: String) -> [UInt8] {
        hash(Array(text.utf8))
    }
}
