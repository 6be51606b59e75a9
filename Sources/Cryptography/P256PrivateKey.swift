internal import COpenSSL

/// A private key on the curve P-256, as Apple issues them for APNs (`.p8`).
///
/// Its description and its mirror do not show the key.
package struct P256PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
    let key: PKey
    /// The public half, X | Y. Every push compares keys by it, and computing it in OpenSSL is slow.
    private let point: [UInt8]

    /// Reads unencrypted PEM text (PKCS#8 as in a `.p8` file, or SEC 1).
    ///
    /// The error `invalidKey` names what the text contains instead: another curve, RSA, a certificate, or no PEM.
    package init(pem: String) throws(CryptographyError) {
        key = unsafe try PKey.parse(pem: pem, noun: "private key", labels: ["PRIVATE KEY", "EC PRIVATE KEY"]) {
            memory in
            // Without this callback OpenSSL would ask for a passphrase on the terminal.
            unsafe PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in -1 }, nil)
        }
        point = try key.publicPoint()
    }

    private init(key: PKey) throws(CryptographyError) {
        self.key = key
        point = try key.publicPoint()
    }

    /// Generates a random key.
    package static func generate() throws(CryptographyError) -> P256PrivateKey {
        guard let pointer = unsafe COpenSSL_EVP_EC_gen_P256() else {
            throw CryptographyError.failed("making a P-256 key")
        }
        return unsafe try P256PrivateKey(key: PKey(owning: pointer))
    }

    /// The key as PEM text (PKCS#8, unencrypted). It is secret.
    package func pem() throws(CryptographyError) -> String {
        unsafe try PKey.pem("writing a private key") { memory in
            unsafe PEM_write_bio_PKCS8PrivateKey(memory, key.pointer, nil, nil, 0, nil, nil)
        }
    }

    /// The public half.
    package var publicKey: P256PublicKey {
        P256PublicKey(key: key)
    }

    /// The ECDSA signature of the SHA-256 digest of `message`: 64 bytes R | S, big endian (RFC 7518 §3.4, ES256).
    ///
    /// It takes about 25 µs. Two signatures of one message differ.
    package func signature(for message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else {
            throw CryptographyError.failed("signing")
        }
        defer { unsafe EVP_MD_CTX_free(context) }
        // A DER signature on this curve has at most 72 bytes.
        var der = [UInt8](repeating: 0, count: 80)
        var count = der.count
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key.pointer) == 1,
            unsafe EVP_DigestSign(context, &der, &count, message, message.count) == 1
        else {
            throw CryptographyError.failed("signing")
        }
        guard let raw = ECDSASignature.raw(der: der.prefix(count)) else {
            throw CryptographyError.failed("signing")
        }
        return raw
    }

    /// Never shows the key.
    package var description: String { "P256PrivateKey(secret)" }

    /// Shows nothing, so that `dump` and interpolation of an enclosing value stay safe.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension P256PrivateKey: Equatable {
    /// Whether both are the same key, by their public halves.
    package static func == (left: P256PrivateKey, right: P256PrivateKey) -> Bool { left.point == right.point }
}
