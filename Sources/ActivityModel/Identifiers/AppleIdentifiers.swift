/// The bundle id of an app.
package struct BundleID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }

    /// Letters, digits, hyphens and inner periods, at most 155 characters (Apple, `CFBundleIdentifier` and App Store
    /// Connect).
    package static func accepts(_ text: String) -> Bool {
        text.utf8.first != UInt8(ascii: ".") && text.utf8.last != UInt8(ascii: ".")
            && Alphabet.consists(text, maximum: 155) {
                Alphabet.isLetterOrDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
            }
    }
}

/// An Apple developer team: ten capital letters and digits.
package struct TeamID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }

    package static func accepts(_ text: String) -> Bool { isTenCharacters(text) }
}

/// An APNs signing key: ten capital letters and digits.
package struct KeyID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }

    package static func accepts(_ text: String) -> Bool { isTenCharacters(text) }
}

/// Apple's id of a broadcast channel: base64 text that Tally passes on exactly as APNs issued it.
package struct APNSChannelID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }

    /// 1 to 256 characters of base64 or base64url. Apple states no length.
    package static func accepts(_ text: String) -> Bool {
        Alphabet.consists(text, maximum: 256) { byte in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: Alphabet.isLetterOrDigit(byte)
            }
        }
    }
}

/// Tally's own id of a broadcast channel: a lower-case UUID.
package struct ChannelID: TextIdentifier {
    package let rawValue: String

    /// Accepts both cases and stores lower case, so that one channel has one id.
    package init(stored text: String) { rawValue = text.lowercased() }

    package static func accepts(_ text: String) -> Bool { isUUID(text) }
}

/// The id that Tally gives to one request. Apple echoes it: as `apns-id` for a push to a device, as `apns-request-id`
/// for one to a channel.
package struct APNSRequestID: TextIdentifier {
    package let rawValue: String

    /// Accepts both cases; Apple's canonical form is lower case.
    package init(stored text: String) { rawValue = text.lowercased() }

    package static func accepts(_ text: String) -> Bool { isUUID(text) }
}

/// 8-4-4-4-12 hexadecimal digits.
private func isUUID(_ text: String) -> Bool {
    guard text.utf8.count == 36 else { return false }
    return text.utf8.enumerated().allSatisfy { place, byte in
        switch place {
        case 8, 13, 18, 23: byte == UInt8(ascii: "-")
        default: Alphabet.isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 6
        }
    }
}

private func isTenCharacters(_ text: String) -> Bool {
    text.utf8.count == 10 && text.utf8.allSatisfy { Alphabet.isDigit($0) || $0 &- UInt8(ascii: "A") < 26 }
}
