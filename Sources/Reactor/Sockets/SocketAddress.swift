import Glibc

/// One IPv4 or IPv6 address with a port, to connect to or to listen on.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// The kernel's `sockaddr`, in the length of its family.
    private let bytes: [UInt8]

    /// Copies an address from the kernel or the resolver; `nil` if it is neither IPv4 nor IPv6.
    init?(copying raw: UnsafeRawBufferPointer) {
        bytes = unsafe Array(raw)
        guard let family, family == AF_INET || family == AF_INET6 else { return nil }
    }

    /// A numeric address, such as `127.0.0.1` or `::1`; `nil` for any other text.
    package init?(numeric host: String, port: UInt16) {
        guard let first = AddressResolver.numeric(host, port: port) else { return nil }
        self = first
    }

    var family: Int32? {
        guard bytes.count >= MemoryLayout<sa_family_t>.size else { return nil }
        return unsafe Int32(bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: sa_family_t.self) })
    }

    /// The port, in host order.
    package var port: UInt16 {
        // In both families the port follows the family, in network order.
        guard bytes.count >= 4 else { return 0 }
        return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }

    /// The address alone, in network order: 4 bytes of IPv4 or 16 of IPv6.
    package var octets: [UInt8] {
        switch family {
        case AF_INET: Array(bytes[4..<8])
        case AF_INET6: Array(bytes[8..<24])
        default: []
        }
    }

    /// Numeric form: `127.0.0.1:443` or `[::1]:443`.
    package var description: String {
        family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The numeric address without the port.
    package var host: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
            guard let base = buffer.baseAddress else { return "?" }
            let result = unsafe withSockaddr { address, length in
                unsafe getnameinfo(address, length, base, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST)
            }
            return result == 0 ? unsafe String(cString: base) : "?"
        }
    }

    func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafeTemporaryAllocation(
            byteCount: MemoryLayout<sockaddr_storage>.size,
            alignment: MemoryLayout<sockaddr_storage>.alignment
        ) { copy in
            unsafe copy.copyBytes(from: bytes)
            // The allocation is never empty.
            let address = unsafe copy.assumingMemoryBound(to: sockaddr.self).baseAddress.unsafelyUnwrapped
            return unsafe body(address, socklen_t(bytes.count))
        }
    }
}
