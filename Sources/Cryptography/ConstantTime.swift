internal import COpenSSL

/// Comparison of secrets.
package enum ConstantTime {
    /// Whether both are equal. The time depends on their lengths only, never on the position of a difference.
    package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else {
            return false
        }
        return unsafe left.withUnsafeBytes { left in
            unsafe right.withUnsafeBytes { right in
                unsafe left.isEmpty || CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0
            }
        }
    }
}
