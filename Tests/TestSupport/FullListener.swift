import Glibc
package import Reactor

/// A port of 127.0.0.1 whose queue of new connections is full: further attempts get no answer, not even a refusal.
package struct FullListener: Sendable {
    package let address: SocketAddress
    private let listener: Int32
    private let filler: Int32

    /// Listens, and takes the only place in the queue itself.
    ///
    /// - Throws: `ReactorError` when the system does not let it.
    package init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isFull = withUnsafeMutablePointer(to: &address) { [listener, filler] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 0) == 0
                    && getsockname(listener, pointer, &length) == 0 && connect(filler, pointer, length) == 0
            }
        }
        guard isFull, let address = SocketAddress(numeric: "127.0.0.1", port: UInt16(bigEndian: address.sin_port))
        else {
            throw ReactorError(operation: "listen", errno: errno)
        }
        self.address = address
    }

    package func close() {
        Glibc.close(filler)
        Glibc.close(listener)
    }
}
