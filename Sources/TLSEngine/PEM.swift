import COpenSSL

/// Certificates and keys from PEM text.
enum PEM {
    /// One X.509 certificate.
    @safe
    final class Certificate {
        let raw: OpaquePointer

        fileprivate init(owning raw: OpaquePointer) {
            unsafe self.raw = raw
        }

        deinit {
            unsafe X509_free(raw)
        }
    }

    /// One private key.
    @safe
    final class PrivateKey {
        let raw: OpaquePointer

        /// - Throws: ``TLSError/Code/invalidMaterial`` if the text contains no key or an encrypted one.
        init(_ text: String) throws(TLSError) {
            ERR_clear_error()
            let memory = try Memory(text)
            // Without a password callback OpenSSL would ask on the terminal.
            guard let key = unsafe PEM_read_bio_PrivateKey(memory.raw, nil, { _, _, _, _ in -1 }, nil) else {
                throw TLSError(.invalidMaterial, draining: "private key")
            }
            unsafe raw = key
        }

        deinit {
            unsafe EVP_PKEY_free(raw)
        }
    }

    /// All certificates in the order of the text; may be empty.
    ///
    /// - Throws: ``TLSError/Code/invalidMaterial`` if one of them is damaged.
    static func certificates(in text: String) throws(TLSError) -> [Certificate] {
        ERR_clear_error()
        let memory = try Memory(text)
        var certificates: [Certificate] = []
        while let certificate = unsafe PEM_read_bio_X509(memory.raw, nil, nil, nil) {
            unsafe certificates.append(Certificate(owning: certificate))
        }
        // The expected end: no further certificate in the text.
        if ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE {
            ERR_clear_error()
            return certificates
        }
        throw TLSError(.invalidMaterial, draining: "certificate")
    }

    /// A read-only BIO over a copy of the text.
    @safe
    private final class Memory {
        let raw: OpaquePointer

        init(_ text: String) throws(TLSError) {
            let bytes = Array(text.utf8)
            guard let raw = unsafe BIO_new(BIO_s_mem()) else { throw TLSError(.outOfMemory, draining: "buffer") }
            unsafe self.raw = raw
            guard !bytes.isEmpty else { return }
            guard unsafe BIO_write(raw, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
                throw TLSError(.outOfMemory, draining: "buffer")
            }
        }

        deinit {
            unsafe BIO_free_all(raw)
        }
    }
}
