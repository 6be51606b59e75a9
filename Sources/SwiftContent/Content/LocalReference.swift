internal import JSON

/// Resolves a `$ref` within its own document.
enum LocalReference {
    /// The location that a reference names; `nil` for anchors and other documents.
    static func target(of reference: String) -> JSONPointer? {
        guard reference.hasPrefix("#") else { return nil }
        var bytes: [UInt8] = []
        var rest = reference.utf8.dropFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return JSONPointer(String(decoding: bytes, as: UTF8.self))
    }
}
