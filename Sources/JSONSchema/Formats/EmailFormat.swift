/// Mailboxes of RFC 5321, section 4.1.2.
enum EmailFormat {
    static func isAddress(_ bytes: [UInt8]) -> Bool {
        // The last `@` separates the parts. A quoted local part may contain others.
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let (local, domain) = (bytes[..<at], bytes[(at + 1)...])
        guard (1...64).contains(local.count), (1...255).contains(domain.count) else { return false }
        let isLocal = local.first == UInt8(ascii: "\"") ? isQuoted(local) : isDotted(local)
        return isLocal && (domain.first == UInt8(ascii: "[") ? isLiteral(domain) : isDomain(domain))
    }

    /// `Dot-string`
    private static func isDotted(_ local: ArraySlice<UInt8>) -> Bool {
        local.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.allSatisfy { $0.isLetter || $0.isDigit || atomSigns.contains($0) }
        }
    }

    private static let atomSigns = Set("!#$%&'*+-/=?^_`{|}~".utf8)

    /// `Quoted-string`
    private static func isQuoted(_ local: ArraySlice<UInt8>) -> Bool {
        guard local.count >= 2, local.last == UInt8(ascii: "\"") else { return false }
        var isEscaped = false
        for byte in local.dropFirst().dropLast() {
            guard (0x20...0x7E).contains(byte) else { return false }
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                return false
            }
        }
        return !isEscaped
    }

    /// `Domain`: names of letters, digits and inner hyphens.
    private static func isDomain(_ domain: ArraySlice<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        return domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { $0.isLetter || $0.isDigit || $0 == hyphen }
        }
    }

    /// `address-literal`
    private static func isLiteral(_ domain: ArraySlice<UInt8>) -> Bool {
        guard domain.last == UInt8(ascii: "]") else { return false }
        let address = domain.dropFirst().dropLast()
        let prefix = Array("IPv6:".utf8)
        return address.starts(with: prefix)
            ? AddressFormat.isIPv6(address.dropFirst(prefix.count)) : AddressFormat.isIPv4(address)
    }
}
