/// The rules for header fields (RFC 9113 §8.2), checked before the encoder gets a field.
package enum HeaderRules {
    /// Fields that belong to an HTTP/1 connection (RFC 9113 §8.2.2).
    private static let forbidden: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    /// Checks whether a field may be sent.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest``, which names the field but never its value.
    package static func check(_ field: HTTP2Header) throws(HTTP2Error) {
        let name = field.name
        guard !name.isEmpty, name.utf8.allSatisfy(isNameByte), !forbidden.contains(name) else {
            throw HTTP2Error(.invalidRequest, "the field name is not allowed in HTTP/2")
        }
        let value = field.value.utf8
        guard value.allSatisfy(isValueByte), value.first.map(isBlank) != true, value.last.map(isBlank) != true else {
            throw HTTP2Error(.invalidRequest, "the value of \(name) has a control character or outer blanks")
        }
    }

    /// Whether all characters are visible ASCII, as required in a path, a method or an authority.
    static func isVisible(_ text: String.UTF8View) -> Bool {
        text.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    /// The same for contiguous bytes, eight at a time, because it checks every token of a batch.
    static func isVisible(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let each: UInt64 = 0x0101_0101_0101_0101
        let raw = UnsafeRawBufferPointer(bytes)
        let whole = bytes.count & ~7
        var wrong: UInt64 = 0
        for start in stride(from: 0, to: whole, by: 8) {
            let word = unsafe raw.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            // Sets the highest bit of every invalid byte: it was set before, a borrow sets it below 0x21, or a carry
            // sets it at 0x7f.
            wrong |= word | ((word &- 0x21 &* each) & ~word) | (word &+ each)
        }
        let isRestVisible = unsafe bytes[whole...].allSatisfy { $0 > 0x20 && $0 < 0x7f }
        return isRestVisible && wrong & (0x80 &* each) == 0
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        // token (RFC 9110 §5.6.2) without upper case.
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func isValueByte(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7f) || byte == 0x09
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }
}
