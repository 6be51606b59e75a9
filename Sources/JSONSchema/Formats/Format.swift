/// The values of `format` that can be checked. All others are annotations.
enum Format: String, Sendable {
    case dateTime = "date-time"
    case date
    case time
    case uuid
    case uri
    case email
    case ipv4
    case ipv6
    case regex

    /// Whether a string has the format.
    func holds(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return switch self {
        case .dateTime: DateFormat.isDateTime(bytes)
        case .date: DateFormat.isDate(bytes[...])
        case .time: DateFormat.isTime(bytes[...])
        case .uuid: Self.isUUID(bytes)
        case .uri: URIFormat.isURI(bytes)
        case .email: EmailFormat.isAddress(bytes)
        case .ipv4: AddressFormat.isIPv4(bytes[...])
        case .ipv6: AddressFormat.isIPv6(bytes[...])
        case .regex: Pattern.isRegularExpression(text)
        }
    }

    /// The format with its article, for messages.
    var phrase: String {
        switch self {
        case .dateTime: "a date and time (RFC 3339)"
        case .date: "a date (RFC 3339)"
        case .time: "a time with its offset (RFC 3339)"
        case .uuid: "a UUID"
        case .uri: "a URI"
        case .email: "an email address"
        case .ipv4: "an IPv4 address"
        case .ipv6: "an IPv6 address"
        case .regex: "a regular expression (ECMA-262)"
        }
    }

    /// RFC 4122: 8-4-4-4-12 hexadecimal digits.
    private static func isUUID(_ bytes: [UInt8]) -> Bool {
        bytes.count == 36
            && bytes.indices.allSatisfy { index in
                [8, 13, 18, 23].contains(index) ? bytes[index] == UInt8(ascii: "-") : bytes[index].isHexadecimalDigit
            }
    }
}

/// The ASCII character classes that formats use.
extension UInt8 {
    var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    var isLetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }
    var isHexadecimalDigit: Bool { isDigit || (self | 0x20) &- UInt8(ascii: "a") < 6 }
}
