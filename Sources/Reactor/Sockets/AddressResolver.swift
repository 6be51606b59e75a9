import Glibc

/// The system's resolver. It runs off the loop, because it blocks until the name servers answer.
package enum AddressResolver {
    /// A lookup of a host and port. It calls back on the loop, in a later pass.
    package typealias LookUp = (
        _ host: String,
        _ port: UInt16,
        _ loop: EventLoop,
        _ completion: @escaping @Sendable (Result<[SocketAddress], ReactorError>) -> Void
    ) -> Void

    /// Looks a name up and calls back on the loop with its addresses, at least one, in the system's order of
    /// preference.
    ///
    /// A lookup cannot be stopped, so a caller with a deadline must ignore a late answer. Numeric addresses need no
    /// thread, but are also answered in a later pass.
    package static func resolve(
        host: String,
        port: UInt16,
        on loop: EventLoop,
        completion: @escaping @Sendable (Result<[SocketAddress], ReactorError>) -> Void
    ) {
        if let address = numeric(host, port: port) {
            loop.execute { completion(.success([address])) }
            return
        }
        do {
            // One thread per lookup. Lookups happen once per connection, and a blocked one must not delay others.
            try OSThread(name: "resolver") {
                let result = lookUpName(host, port: port)
                loop.execute { completion(result) }
            }.detach()
        } catch {
            loop.execute { completion(.failure(error)) }
        }
    }

    /// The addresses of a name, at least one, in the system's order of preference. It blocks, so do not call it on the
    /// loop.
    package static func addresses(of host: String) throws(ReactorError) -> [SocketAddress] {
        if let address = numeric(host, port: 0) { return [address] }
        return try lookUpName(host, port: 0).get()
    }

    /// The addresses of a name, of the families that this machine has itself (without loopback). A numeric address is
    /// tried on every machine and does not come here.
    private static func lookUpName(_ name: String, port: UInt16) -> Result<[SocketAddress], ReactorError> {
        lookUp(name, port: port, flags: AI_ADDRCONFIG)
    }

    static func numeric(_ host: String, port: UInt16) -> SocketAddress? {
        guard case .success(let addresses) = lookUp(host, port: port, flags: AI_NUMERICHOST) else { return nil }
        return addresses.first
    }

    private static func lookUp(
        _ host: String,
        port: UInt16,
        flags: Int32
    ) -> Result<[SocketAddress], ReactorError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let result = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard result == 0 else {
            let words = unsafe String(cString: gai_strerror(result))
            return .failure(ReactorError(.unresolvable, operation: "resolve", detail: "\(host): \(words)"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            let raw = unsafe UnsafeRawBufferPointer(
                start: entry.pointee.ai_addr,
                count: Int(entry.pointee.ai_addrlen)
            )
            if let address = unsafe SocketAddress(copying: raw), !addresses.contains(address) {
                addresses.append(address)
            }
            unsafe next = entry.pointee.ai_next
        }
        guard !addresses.isEmpty else {
            return .failure(ReactorError(.unresolvable, operation: "resolve", detail: "\(host): no address"))
        }
        return .success(addresses)
    }
}
