internal import COpenSSL

/// A public key on the curve P-256. It verifies signatures of ``P256PrivateKey``.
package struct P256PublicKey: Sendable {
    /// The handle may also contain the private half, which this type never uses or shows.
    private let key: PKey

    init(key: PKey) {
        self.key = key
    }

    /// Reads PEM text (SubjectPublicKeyInfo).
    package init(pem: String) throws(CryptographyError) {
        key = unsafe try PKey.parse(pem: pem, noun: "public key", labels: ["PUBLIC KEY"]) { memory in
            unsafe PEM_read_bio_PUBKEY(memory, nil, nil, nil)
        }
    }

    /// The key as PEM text.
    package func pem() throws(CryptographyError) -> String {
        unsafe try PKey.pem("writing a public key") { memory in
            unsafe PEM_write_bio_PUBKEY(memory, key.pointer)
        }
    }

    /// Whether `signature` (64 bytes R | S) is a signature of `message` by the private half. A malformed signature is
    /// invalid.
    package func isValidSignature(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard let der = ECDSASignature.der(raw: signature), let context = unsafe EVP_MD_CTX_new() else {
            return false
        }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }
}

extension P256PublicKey: CustomReflectable {
    /// Shows nothing, because the handle may contain the private half.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
