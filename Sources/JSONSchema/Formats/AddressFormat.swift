/// Checks IP addresses in text form.
enum AddressFormat {
    /// Dotted decimal (RFC 2673, section 3.2), without leading zeros.
    static func isIPv4(_ bytes: ArraySlice<UInt8>) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard (1...3).contains(part.count), part.allSatisfy(\.isDigit) else { return false }
                guard part.count == 1 || part.first != UInt8(ascii: "0") else { return false }
                return part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } < 256
            }
    }

    /// RFC 4291, section 2.2: eight groups, one run of them as `::`, the last two also as an IPv4 address.
    static func isIPv6(_ bytes: ArraySlice<UInt8>) -> Bool {
        let colon = UInt8(ascii: ":")
        guard let gap = firstGap(bytes) else {
            return groups(bytes.split(separator: colon, omittingEmptySubsequences: false)) == 8
        }
        let (before, after) = (bytes[..<gap], bytes[(gap + 2)...])
        guard firstGap(after) == nil, after.first != colon else { return false }
        let left =
            before.isEmpty ? 0 : groups(before.split(separator: colon, omittingEmptySubsequences: false), isLast: false)
        let right = after.isEmpty ? 0 : groups(after.split(separator: colon, omittingEmptySubsequences: false))
        guard let left, let right else { return false }
        return left + right <= 7
    }

    private static func firstGap(_ bytes: ArraySlice<UInt8>) -> Int? {
        bytes.indices.dropLast().first { bytes[$0] == UInt8(ascii: ":") && bytes[$0 + 1] == UInt8(ascii: ":") }
    }

    /// How many groups of 16 bits the parts represent; `nil` if one is malformed.
    private static func groups(_ parts: [ArraySlice<UInt8>], isLast: Bool = true) -> Int? {
        var count = 0
        for (index, part) in parts.enumerated() {
            if (1...4).contains(part.count), part.allSatisfy(\.isHexadecimalDigit) {
                count += 1
            } else if isLast, index == parts.count - 1, isIPv4(part) {
                count += 2
            } else {
                return nil
            }
        }
        return count
    }
}
