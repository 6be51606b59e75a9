internal import COpenSSL

/// Converts an ECDSA signature on P-256 between its two forms: OpenSSL's DER, and the 64 raw bytes of JSON Web Tokens.
enum ECDSASignature {
    private static let scalarCount = 32

    /// R | S, 32 bytes each, from DER; `nil` if `der` is malformed.
    static func raw(der: ArraySlice<UInt8>) -> [UInt8]? {
        unsafe der.withUnsafeBufferPointer { der in
            var next = der.baseAddress
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &next, der.count) else {
                return nil
            }
            defer { unsafe ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 2 * scalarCount)
            let isComplete = unsafe raw.withUnsafeMutableBufferPointer { raw in
                guard let base = raw.baseAddress else {
                    return false
                }
                let width = Int32(scalarCount)
                return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, width) == width
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + scalarCount, width) == width
            }
            return isComplete ? raw : nil
        }
    }

    /// DER from R | S; `nil` if `raw` does not have 64 bytes.
    static func der(raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * scalarCount, let signature = unsafe ECDSA_SIG_new() else {
            return nil
        }
        defer { unsafe ECDSA_SIG_free(signature) }
        let (r, s) = unsafe raw.withUnsafeBufferPointer { raw in
            guard let base = raw.baseAddress else {
                return unsafe (nil as OpaquePointer?, nil as OpaquePointer?)
            }
            let width = Int32(scalarCount)
            return unsafe (BN_bin2bn(base, width, nil), BN_bin2bn(base + scalarCount, width, nil))
        }
        // On success the signature owns both numbers.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            return nil
        }
        var der: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_ECDSA_SIG(signature, &der)
        defer { unsafe CRYPTO_free(der, nil, 0) }
        guard count > 0, let der = unsafe der else {
            return nil
        }
        return unsafe Array(UnsafeBufferPointer(start: der, count: Int(count)))
    }
}
