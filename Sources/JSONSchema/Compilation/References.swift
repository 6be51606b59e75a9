internal import JSON

extension SchemaCompiler {
    /// The schema that a `$ref` leads to: `#`, `#/pointer` or `#anchor`, with or without the document's own `$id` before it.
    func resolve(_ text: String, from schema: JSONPointer) throws(SchemaError) -> SchemaNode.ID {
        let place = schema.appending("$ref")
        guard let fragment = fragment(of: text) else {
            let message = "'\(text)' leads out of this document; only references into it are followed."
            throw SchemaError(code: .unresolvedReference, pointer: place, message: message)
        }
        guard let decoded = Self.percentDecoded(fragment), let target = target(decoded) else {
            let message = "'\(text)' leads to no schema of this document."
            throw SchemaError(code: .unresolvedReference, pointer: place, message: message)
        }
        return target
    }

    private func target(_ fragment: String) -> SchemaNode.ID? {
        if fragment.isEmpty || fragment.hasPrefix("/") { return JSONPointer(fragment).flatMap { places[$0] } }
        return anchors[fragment]
    }

    private func fragment(of text: String) -> Substring? {
        if text.hasPrefix("#") { return text.dropFirst() }
        guard let documentID, text.hasPrefix(documentID) else { return nil }
        let rest = text.dropFirst(documentID.count)
        return rest.isEmpty ? rest : rest.hasPrefix("#") ? rest.dropFirst() : nil
    }

    /// Undoes the escapes of a URI; `nil` if one is broken or the result is not UTF-8.
    private static func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
