/// Unpredictable bytes, from the kernel.
package enum SecureRandom {
    /// `count` random bytes.
    ///
    /// The standard library's system generator is `getrandom(2)` on Linux, which cannot fail once the machine is up;
    /// OpenSSL's generator can, and would make every caller handle an error that never happens.
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            // One system call for eight bytes.
            let word: UInt64 = generator.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) where bytes.count < count {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }
}
