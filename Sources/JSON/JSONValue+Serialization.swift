extension JSONValue {
    /// The document in compact form: no white space, `/` not escaped, and the digits of numbers and the order of
    /// members preserved.
    ///
    /// `JSONEncoder` would write `/` as `\/`, which wastes bytes of a push's small limit.
    package func serialized() -> [UInt8] {
        var output: [UInt8] = []
        // Growing would copy most documents twice.
        output.reserveCapacity(leastByteCount)
        write(to: &output)
        return output
    }

    /// The compact form as text.
    package var text: String { String(decoding: serialized(), as: UTF8.self) }

    /// A lower bound of the size of the compact form, computed without writing it. It ignores escapes.
    package var leastByteCount: Int {
        switch self {
        case .null: 4
        case .bool(let value): value ? 4 : 5
        case .number(let number): number.digits.utf8.count
        case .string(let text): text.utf8.count + 2
        case .array(let items): items.reduce(max(items.count, 1) + 1) { $0 + $1.leastByteCount }
        case .object(let object):
            object.entries.reduce(max(object.count, 1) + 1) { $0 + $1.key.utf8.count + 3 + $1.value.leastByteCount }
        }
    }

    /// Appends the compact form.
    package func write(to output: inout [UInt8]) {
        switch self {
        case .null:
            output.append(contentsOf: "null".utf8)
        case .bool(let value):
            output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let number):
            Self.append(number.digits, to: &output)
        case .string(let text):
            Self.write(text, to: &output)
        case .array(let items):
            output.append(UInt8(ascii: "["))
            for (index, item) in items.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                item.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object):
            output.append(UInt8(ascii: "{"))
            for (index, entry) in object.entries.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.write(entry.key, to: &output)
                output.append(UInt8(ascii: ":"))
                entry.value.write(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a string in quotes with the minimum of escapes.
    private static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        if PlainBytes.skip(text.utf8.span, from: 0).end == text.utf8.count {
            append(text, to: &output)
        } else {
            for byte in text.utf8 {
                if PlainBytes.isPlain(byte) { output.append(byte) } else { writeEscape(of: byte, to: &output) }
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Appends the bytes of a text as one slice, which is faster than one by one as a collection.
    private static func append(_ text: String, to output: inout [UInt8]) {
        text.utf8.span.withUnsafeBufferPointer { output.append(contentsOf: $0) }
    }

    private static func writeEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case 0x00..<0x20:
            output.append(contentsOf: byte < 0x10 ? "u000".utf8 : "u001".utf8)
            output.append(contentsOf: String(byte & 0x0F, radix: 16).utf8)
        default: output.append(byte)
        }
    }
}
