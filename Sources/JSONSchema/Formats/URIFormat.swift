/// URIs of RFC 3986: with a scheme, and with the allowed characters in each part.
enum URIFormat {
    static func isURI(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let uri = URIReference(text)
        guard uri.scheme != nil, isPart(uri.path, also: ":@/"), isPart(uri.query ?? "", also: ":@/?"),
            isPart(uri.fragment ?? "", also: ":@/?")
        else { return false }
        guard let authority = uri.authority else { return true }
        return isAuthority(Array(authority.utf8)[...])
    }

    /// `[userinfo "@"] host [":" port]`
    private static func isAuthority(_ authority: ArraySlice<UInt8>) -> Bool {
        var rest = authority
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            guard isPart(rest[..<at], also: ":") else { return false }
            rest = rest[(at + 1)...]
        }
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")), isLiteral(rest[(rest.startIndex + 1)..<end]) else {
                return false
            }
            rest = rest[(end + 1)...]
        } else {
            let host = rest.prefix { $0 != UInt8(ascii: ":") }
            guard isPart(host, also: "") else { return false }
            rest = rest.dropFirst(host.count)
        }
        return rest.isEmpty || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isDigit)
    }

    /// `IPv6address / IPvFuture`
    private static func isLiteral(_ address: ArraySlice<UInt8>) -> Bool {
        guard let first = address.first, first | 0x20 == UInt8(ascii: "v") else { return AddressFormat.isIPv6(address) }
        let parts = address.dropFirst().split(
            separator: UInt8(ascii: "."),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        return parts.count == 2 && !parts[0].isEmpty && parts[0].allSatisfy(\.isHexadecimalDigit) && !parts[1].isEmpty
            && isPart(parts[1], also: ":")
    }

    private static func isPart(_ text: String, also signs: StaticString) -> Bool {
        isPart(Array(text.utf8)[...], also: signs)
    }

    /// Whether all bytes are unreserved, sub-delimiters, percent escapes, or in `signs`.
    private static func isPart(_ bytes: ArraySlice<UInt8>, also signs: StaticString) -> Bool {
        let signs = Array(signs.description.utf8)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < bytes.endIndex, bytes[index + 1].isHexadecimalDigit,
                    bytes[index + 2].isHexadecimalDigit
                else { return false }
                index += 3
                continue
            }
            guard byte.isLetter || byte.isDigit || plain.contains(byte) || signs.contains(byte) else { return false }
            index += 1
        }
        return true
    }

    private static let plain = Set("-._~!$&'()*+,;=".utf8)
}
