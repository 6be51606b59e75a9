import Reactor

/// A range of addresses, such as `10.0.0.0/8`; IPv4 or IPv6.
package struct AddressBlock: Sendable, Hashable {
    private let octets: [UInt8]
    private let bits: Int

    /// Reads an address, or one with the length of its prefix; nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = parts.first, let octets = Self.octets(String(address)) else { return nil }
        var bits = octets.count * 8
        if parts.count == 2 {
            guard let count = Int(parts[1]), (0...bits).contains(count) else { return nil }
            bits = count
        }
        self.octets = octets
        self.bits = bits
    }

    /// The octets of an address in its usual form: the resolver also takes others, such as `0x7f.1`, but a list of
    /// permissions should not.
    private static func octets(_ text: String) -> [UInt8]? {
        guard let address = SocketAddress(numeric: text, port: 0), text.contains(":") || address.host == text else {
            return nil
        }
        return address.octets
    }

    func contains(_ address: [UInt8]) -> Bool {
        guard address.count == octets.count else { return false }
        let whole = bits / 8
        guard address.prefix(whole) == octets.prefix(whole) else { return false }
        guard bits % 8 > 0 else { return true }
        return (address[whole] ^ octets[whole]) >> (8 - bits % 8) == 0
    }
}
