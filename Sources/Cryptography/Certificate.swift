internal import COpenSSL

/// An X.509 version 3 certificate under construction. ``SelfSignedCertificate`` uses it.
@safe
final class Certificate {
    private let pointer: OpaquePointer

    /// An unsigned certificate for `key`. `days` is its validity, in days from now.
    init(subject: String, key: P256PrivateKey, days: Range<Int>) throws(CryptographyError) {
        guard let pointer = unsafe X509_new() else {
            throw CryptographyError.failed("making a certificate")
        }
        unsafe self.pointer = pointer
        let name = unsafe X509_get_subject_name(pointer)
        let commonName = Array(subject.utf8)
        let serial = UInt64.random(in: 1...UInt64(Int64.max))
        guard unsafe X509_set_version(pointer, 2) == 1,
            unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), serial) == 1,
            // One hour early, for clocks that are slow.
            unsafe X509_time_adj_ex(X509_getm_notBefore(pointer), Int32(clamping: days.lowerBound), -3600, nil) != nil,
            unsafe X509_time_adj_ex(X509_getm_notAfter(pointer), Int32(clamping: days.upperBound), 0, nil) != nil,
            unsafe X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, commonName, Int32(commonName.count), -1, 0)
                == 1,
            unsafe X509_set_pubkey(pointer, key.key.pointer) == 1
        else {
            throw CryptographyError.failed("making a certificate")
        }
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// Adds one extension. `value` is in OpenSSL's configuration syntax.
    func addExtension(_ nid: Int32, _ value: String, issuer: Certificate) throws(CryptographyError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer.pointer, pointer, nil, nil, 0)
        guard let made = unsafe X509V3_EXT_conf_nid(nil, &context, nid, value) else {
            throw CryptographyError.failed("making a certificate extension")
        }
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe X509_add_ext(pointer, made, -1) == 1 else {
            throw CryptographyError.failed("making a certificate extension")
        }
    }

    /// Signs with the issuer's key. The certificate must not change afterwards.
    func sign(by key: P256PrivateKey, issuer: Certificate) throws(CryptographyError) {
        guard unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1,
            unsafe X509_sign(pointer, key.key.pointer, EVP_sha256()) > 0
        else {
            throw CryptographyError.failed("signing a certificate")
        }
    }

    /// The certificate as PEM text.
    func pem() throws(CryptographyError) -> String {
        let pointer = unsafe pointer
        return unsafe try PKey.pem("writing a certificate") { memory in
            unsafe PEM_write_bio_X509(memory, pointer)
        }
    }
}
