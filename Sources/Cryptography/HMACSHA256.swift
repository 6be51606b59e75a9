internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    /// The authentication code of `message` under `key` (of any length), 32 bytes.
    package static func authenticationCode(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA256.byteCount)
        // A null key would mean "the key of the previous call". An array always has an address, even an empty one.
        let result = unsafe HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil)
        // Like ``SHA256/hash(_:)``, it fails only if OpenSSL's own provider is missing.
        unsafe precondition(result != nil, "OpenSSL offers no HMAC-SHA-256")
        return code
    }

    /// Whether `code` is the authentication code of `message` under `key`. It takes the same time for every wrong code.
    package static func isValid(_ code: [UInt8], for message: [UInt8], key: [UInt8]) -> Bool {
        ConstantTime.equal(code, authenticationCode(for: message, key: key))
    }
}
