/// The address of an API.
package struct APNSEndpoint: Sendable, Hashable {
    /// A DNS name or an IPv4 or IPv6 address (without brackets), in lower case.
    package let host: String
    package let port: UInt16

    /// Creates an endpoint.
    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// Parses `https://host[:port][/]`. `name` is the setting for error messages.
    ///
    /// - Throws: ``APNSTransportError/Code/invalidEndpoint`` for another scheme, a missing host, a bad port,
    ///   credentials, a path, a query or a fragment.
    package init(url text: String, name: String) throws(APNSTransportError) {
        func refusal(_ reason: String) -> APNSTransportError {
            APNSTransportError(.invalidEndpoint, "\(name): \(reason)")
        }
        guard text.lowercased().hasPrefix("https://") else {
            throw refusal("the URL must begin with https://")
        }
        let rest = text.dropFirst("https://".count)
        guard !rest.contains("@") else {
            throw refusal("the URL must not carry credentials")
        }
        try self.init(authority: rest, defaultPort: 443, refusal: refusal)
    }

    /// Parses `host[:port][/]`. Without a default port, the text must have one.
    init(
        authority text: Substring,
        defaultPort: UInt16?,
        refusal: (String) -> APNSTransportError
    ) throws(APNSTransportError) {
        let rest = text.hasSuffix("/") ? text.dropLast() : text
        guard !rest.contains(where: { "/?#".contains($0) }) else {
            throw refusal("the URL must be a host and a port only")
        }
        let host: Substring
        var portText: Substring?
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else {
                throw refusal("the address has no closing bracket")
            }
            host = rest[rest.index(after: rest.startIndex)..<end]
            let tail = rest[rest.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else {
                throw refusal("the URL must be a host and a port only")
            }
            portText = tail.isEmpty ? nil : tail.dropFirst()
        } else {
            let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = parts.first ?? ""
            portText = parts.count > 1 ? parts[1] : nil
        }
        guard !host.isEmpty else {
            throw refusal("the URL has no host")
        }
        guard host.utf8.allSatisfy(Self.isHostByte) else {
            throw refusal("the host has characters that no host has")
        }
        var port = defaultPort
        if let portText {
            // `UInt16` alone would accept a sign.
            let isDigits = portText.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard isDigits, let number = UInt16(portText), number > 0 else {
                throw refusal("the port is not a number from 1 to 65535")
            }
            port = number
        }
        guard let port else {
            throw refusal("the URL has no port")
        }
        self.init(host: host.lowercased(), port: port)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: ":"):
            true
        default:
            false
        }
    }

    /// The value of `:authority`, without the default port.
    package var authority: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? host : "\(host):\(port)"
    }
}

extension APNSEndpoint: CustomStringConvertible {
    /// `https://host:port`.
    package var description: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "https://\(host):\(port)"
    }
}
