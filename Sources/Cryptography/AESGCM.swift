internal import COpenSSL

/// AES-256-GCM: encryption that notices changes (NIST SP 800-38D).
///
/// Sealed bytes are nonce (12) | ciphertext (as long as the plaintext) | tag (16). The nonce is random, so one key is
/// good for some billions of seals.
package enum AESGCM {
    private static let nonceCount = 12
    private static let tagCount = 16
    /// How many bytes sealing adds.
    package static let overhead = nonceCount + tagCount

    /// Encrypts `plaintext` and binds it to `authenticated`, which is not stored and must be given again to open.
    package static func seal(
        _ plaintext: [UInt8],
        key: SymmetricKey,
        authenticating authenticated: [UInt8] = []
    ) throws(CryptographyError) -> [UInt8] {
        try seal(plaintext, key: key, authenticating: authenticated, nonce: SecureRandom.bytes(nonceCount))
    }

    /// Gives back the plaintext; an error `authenticationFailed` if anything differs from what was sealed.
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

    /// Seals under a nonce of the caller's; only for known-answer tests, since a nonce used twice gives the key's
    /// secrets away.
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

    /// One pass of encryption or decryption.
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
            // The default nonce length of GCM is 12 bytes, the one in use here.
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

        /// The transformed bytes; as many as `input` has.
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

        /// Ends an encryption and gives its tag.
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

        /// Ends a decryption; whether the tag is right.
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
