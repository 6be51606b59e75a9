/// The location of a value in a document (RFC 6901).
///
/// Tokens are compared by code points, like the keys of objects.
package struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The keys and array indexes on the path from the root, unescaped.
    package private(set) var tokens: [String]

    /// The whole document.
    package init() { tokens = [] }

    /// A pointer from its tokens.
    package init(tokens: [String]) { self.tokens = tokens }

    /// Parses the text form: empty, or tokens that each begin with `/`, with `~1` for `/` and `~0` for `~`.
    package init?(_ text: String) {
        var tokens: [String] = []
        var token: [UInt8]?
        var isEscaped = false
        for byte in text.utf8 {
            guard token != nil || byte == UInt8(ascii: "/") else { return nil }
            if isEscaped {
                switch byte {
                case UInt8(ascii: "0"): token?.append(UInt8(ascii: "~"))
                case UInt8(ascii: "1"): token?.append(UInt8(ascii: "/"))
                default: return nil
                }
                isEscaped = false
            } else if byte == UInt8(ascii: "/") {
                if let token { tokens.append(String(decoding: token, as: UTF8.self)) }
                token = []
            } else if byte == UInt8(ascii: "~") {
                isEscaped = true
            } else {
                token?.append(byte)
            }
        }
        guard !isEscaped else { return nil }
        if let token { tokens.append(String(decoding: token, as: UTF8.self)) }
        self.tokens = tokens
    }

    package static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens, by: ExactText.equal)
    }

    package func hash(into hasher: inout Hasher) {
        for token in tokens { ExactText.hash(token, into: &hasher) }
    }

    /// The pointer to a member of the object at this location.
    package func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    /// The pointer to an item of the array at this location.
    package func appending(index: Int) -> JSONPointer { appending(String(index)) }

    /// The result of resolving another pointer from this location.
    package func appending(contentsOf other: JSONPointer) -> JSONPointer { JSONPointer(tokens: tokens + other.tokens) }

    /// The text form; empty for the whole document.
    package var description: String {
        var bytes: [UInt8] = []
        for token in tokens {
            bytes.append(UInt8(ascii: "/"))
            for byte in token.utf8 {
                switch byte {
                case UInt8(ascii: "~"): bytes.append(contentsOf: "~0".utf8)
                case UInt8(ascii: "/"): bytes.append(contentsOf: "~1".utf8)
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONValue {
    /// The value at a location; `nil` if the document has none there.
    package subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let object):
                guard let member = object[token] else { return nil }
                value = member
            case .array(let items):
                guard let index = Self.index(token), items.indices.contains(index) else { return nil }
                value = items[index]
            default:
                return nil
            }
        }
        return value
    }

    /// An array index as RFC 6901 writes it: digits without a leading zero.
    private static func index(_ token: String) -> Int? {
        guard token.utf8.allSatisfy(NumberScanner.isDigit), token == "0" || token.utf8.first != UInt8(ascii: "0")
        else { return nil }
        return Int(token)
    }
}
