internal import COpenSSL

/// AES-256-GCM: authenticated encryption, which detects every change (NIST SP 800-38D).
///
/// Sealed bytes are nonce (12) | ciphertext (as long as the plaintext) | tag (16). The nonce is random, so one key is
/// safe for some billions of seals.
package enum AESGCM {
    private static let nonceCount = 12
    private static let tagCount = 16
    /// The number of bytes that sealing adds.
    package static let overhead = nonceCount + tagCount

    /// Encrypts `plaintext` and binds it to `authenticated`. The result does not contain `authenticated`; opening needs
    /// it again.
    package static func seal(
        _ plaintext: [UInt8],
        key: SymmetricKey,
        authenticating authenticated: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        try seal(plaintext, key: key, authenticating: authenticated, nonce: SecureRandom.bytes(nonceCount))
    }

    /// Decrypts sealed bytes. Throws `authenticationFailed` if any input differs from what was sealed.
    package static func open(
        _ sealed: [UInt8],
        key: SymmetricKey,
        authenticating authenticated: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        let failure = CryptographyError(
            code: .authenticationFailed,
            message: "sealed bytes do not fit this key or their context"
        )
        guard sealed.count >= overhead else {
            throw failure
        }
        let ciphertext = Array(sealed[nonceCount..<(sealed.count - tagCount)])
        let cipher = try Cipher(
            key: key,
            nonce: Array(sealed.prefix(nonceCount)),
            encrypting: false,
            authenticated: authenticated
        )
        let plaintext = try cipher.update(ciphertext)
        guard try cipher.finish(verifying: Array(sealed.suffix(tagCount))) else {
            throw failure
        }
        return plaintext
    }

    /// Seals under a nonce from the caller; only for known-answer tests. A nonce that is used twice reveals secrets of
    /// the key.
    static func seal(
        _ plaintext: [UInt8],
        key: SymmetricKey,
        authenticating authenticated: [UInt8],
        nonce: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        let cipher = try Cipher(key: key, nonce: nonce, encrypting: true, authenticated: authenticated)
        let ciphertext = try cipher.update(plaintext)
        return nonce + ciphertext + (try cipher.finishWithTag())
    }

    /// One encryption or decryption.
    @safe
    private final class Cipher {
        private let context: OpaquePointer

        init(
            key: SymmetricKey,
            nonce: [UInt8],
            encrypting: Bool,
            authenticated: [UInt8]
        ) throws(CryptographyError) {
            guard let context = unsafe EVP_CIPHER_CTX_new() else {
                throw CryptographyError.failed("AES-256-GCM")
            }
            unsafe self.context = context
            // GCM's default nonce length is 12 bytes, as used here.
            let started = unsafe EVP_CipherInit_ex(
                context,
                EVP_aes_256_gcm(),
                nil,
                key.bytes,
                nonce,
                encrypting ? 1 : 0
            )
            guard started == 1 else {
                throw CryptographyError.failed("AES-256-GCM")
            }
            guard !authenticated.isEmpty else {
                return
            }
            var count: Int32 = 0
            guard unsafe EVP_CipherUpdate(context, nil, &count, authenticated, Int32(authenticated.count)) == 1 else {
                throw CryptographyError.failed("AES-256-GCM")
            }
        }

        deinit {
            unsafe EVP_CIPHER_CTX_free(context)
        }

        /// Transforms `input` into as many bytes.
        func update(_ input: [UInt8]) throws(CryptographyError) -> [UInt8] {
            guard !input.isEmpty else {
                return []
            }
            var output = [UInt8](repeating: 0, count: input.count)
            var count: Int32 = 0
            guard unsafe EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1 else {
                throw CryptographyError.failed("AES-256-GCM")
            }
            return output
        }

        /// Finishes an encryption and returns its tag.
        func finishWithTag() throws(CryptographyError) -> [UInt8] {
            var tag = [UInt8](repeating: 0, count: tagCount)
            var count: Int32 = 0
            guard unsafe EVP_CipherFinal_ex(context, &tag, &count) == 1,
                unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(tagCount), &tag) == 1
            else {
                throw CryptographyError.failed("AES-256-GCM")
            }
            return tag
        }

        /// Finishes a decryption; returns whether the tag is correct.
        func finish(verifying tag: [UInt8]) throws(CryptographyError) -> Bool {
            var tag = tag
            var scratch = [UInt8](repeating: 0, count: tagCount)
            var count: Int32 = 0
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(tagCount), &tag) == 1 else {
                throw CryptographyError.failed("AES-256-GCM")
            }
            let result = unsafe EVP_CipherFinal_ex(context, &scratch, &count)
            ERR_clear_error()
            return result == 1
        }
    }
}
