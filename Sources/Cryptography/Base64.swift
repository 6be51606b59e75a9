/// Standard base64 with padding (RFC 4648 §4).
package enum Base64 {
    /// The padded text of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Coding.standard.encode(bytes, padded: true)
    }

    /// Decodes `text`; `nil` if it is not canonical base64 with padding.
    package static func decode(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count % 4 == 0 else {
            return nil
        }
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else {
            return nil
        }
        return Base64Coding.standard.decode(characters.dropLast(padding))
    }
}

/// Base64 with the URL alphabet and without padding (RFC 4648 §5), as JSON Web Tokens use it.
package enum Base64URL {
    /// The text of `bytes`, without padding.
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Coding.url.encode(bytes, padded: false)
    }

    /// Decodes `text`; `nil` if it has padding, invalid characters or nonzero unused bits.
    package static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

    /// The same for the characters of a text.
    package static func decode(_ characters: some Collection<UInt8>) -> [UInt8]? {
        Base64Coding.url.decode(Array(characters)[...])
    }
}

/// The coder behind both alphabets.
private struct Base64Coding {
    static let standard = Base64Coding(last: "+/")
    static let url = Base64Coding(last: "-_")

    private let alphabet: [UInt8]
    /// The value of each ASCII character; 255 for an invalid one.
    private let values: [UInt8]

    private init(last: String) {
        let alphabet = Array(
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8
        )
        var values = [UInt8](repeating: .max, count: 256)
        for (value, character) in alphabet.enumerated() {
            values[Int(character)] = UInt8(value)
        }
        self.alphabet = alphabet
        self.values = values
    }

    func encode(_ bytes: [UInt8], padded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let rest = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if rest > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if rest > 2 { group |= UInt32(bytes[index + 2]) }
            for position in 0...rest {
                text.append(alphabet[Int(group >> (18 - 6 * UInt32(position))) & 63])
            }
            if padded {
                text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - rest))
            }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    func decode(_ characters: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3 + 2)
        var buffer: UInt32 = 0
        var bits = 0
        for character in characters {
            let value = values[Int(character)]
            guard value != .max else {
                return nil
            }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
                buffer &= (1 << UInt32(bits)) - 1
            }
        }
        // A single extra character or nonzero unused bits are invalid, because two texts would mean the same bytes.
        return bits < 6 && buffer == 0 ? bytes : nil
    }
}
