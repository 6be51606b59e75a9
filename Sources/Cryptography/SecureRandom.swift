/// Unpredictable bytes, from the kernel.
package enum SecureRandom {
    /// Returns `count` random bytes.
    ///
    /// On Linux, the standard library's system generator is `getrandom(2)`, which cannot fail after boot. OpenSSL's
    /// generator can fail, and every caller would have to handle an error that never happens.
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            // One system call yields eight bytes.
            let word: UInt64 = generator.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) where bytes.count < count {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }
}
