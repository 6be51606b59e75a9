package import Reactor

/// Which addresses webhooks may reach: public ones, and those that the operator allows.
///
/// A server that posts to any URL would give its callers a way into the internal network.
package struct AddressRules: Sendable {
    /// Allowed besides public addresses, also without TLS.
    package let allowed: [AddressBlock]

    package init(allowed: [AddressBlock] = []) {
        self.allowed = allowed
    }

    /// Whether a connection to the address may be opened. It needs TLS unless the operator allows the address.
    package func allows(_ address: SocketAddress, isSecure: Bool) -> Bool {
        let octets = Self.unmapped(address.octets)
        if allowed.contains(where: { $0.contains(octets) }) { return true }
        return isSecure && Self.isPublic(octets)
    }

    /// The IPv4 address in one that is mapped to IPv6 (`::ffff:0:0/96`); all others unchanged.
    private static func unmapped(_ octets: [UInt8]) -> [UInt8] {
        octets.count == 16 && mapped.contains(octets) ? Array(octets[12...]) : octets
    }

    private static func isPublic(_ octets: [UInt8]) -> Bool {
        switch octets.count {
        case 4: return !special4.contains { $0.contains(octets) }
        case 16:
            // The translator reaches the IPv4 address in the last four bytes.
            if translated.contains(octets) { return isPublic(Array(octets[12...])) }
            return global6.contains(octets) && !special6.contains { $0.contains(octets) }
        default: return false
        }
    }

    private static let mapped = block("::ffff:0:0/96")
    /// NAT64 (RFC 6052).
    private static let translated = block("64:ff9b::/96")
    /// What IANA assigns to the internet. Loopback, link-local, unique local and multicast addresses lie outside.
    private static let global6 = block("2000::/3")

    /// IANA's registry of special IPv4 addresses, multicast and the reserved rest.
    private static let special4 = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    ].map(block)

    /// IANA's special addresses inside ``global6``: Teredo and other tunnels, 6to4, documentation.
    private static let special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(block)

    private static func block(_ text: String) -> AddressBlock {
        // The texts are those above, and every test of the rules reads all of them.
        guard let block = AddressBlock(text) else { preconditionFailure("\(text) is no block of addresses") }
        return block
    }
}
