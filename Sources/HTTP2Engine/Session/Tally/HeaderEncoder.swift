/// Encodes the header blocks of requests (RFC 7541).
///
/// Requests with the same ``SharedHeaders`` differ only in their paths. So the encoder keeps the bytes in front of the
/// path and behind it, ready to copy. A change of the dynamic table outdates them.
///
/// Apple's advice decides what enters the table: path and provider token never do, nor ids that no other request
/// shares. All other fields do. No text is Huffman coded: coding takes more time than it saves in encryption.
@safe
struct HeaderEncoder: ~Copyable {
    /// The bytes of a block around its path.
    final class Template {
        fileprivate(set) var headers: SharedHeaders
        fileprivate var version = -1
        fileprivate(set) var before = OutputBuffer(capacity: 256)
        fileprivate(set) var after = OutputBuffer(capacity: 512)

        fileprivate init(_ headers: SharedHeaders) {
            self.headers = headers
        }
    }

    /// As many as ``SharedHeaders`` that are in use at the same time.
    private static let capacity = 8

    private var table = HeaderTable()
    private var templates: [Template] = []
    /// The template that was used last.
    private var current = 0
    /// The template that the next new headers replace.
    private var oldest = 0

    /// Follows the server's SETTINGS_HEADER_TABLE_SIZE.
    mutating func setTableSize(_ size: Int) {
        table.setLimit(size)
    }

    /// The block's bytes around the path, for the very next block. It changes the table as the block will.
    mutating func template(_ headers: SharedHeaders) -> Template {
        if current < templates.count, templates[current].headers === headers,
            templates[current].version == table.version, !table.hasUnsaidLimits
        {
            return templates[current]
        }
        return find(headers)
    }

    /// Adds the path.
    static func append(
        path prefix: [UInt8],
        _ suffix: UnsafeBufferPointer<UInt8>,
        to output: inout OutputBuffer
    ) {
        output.append(byte: literal | pathName)
        output.append(prefixed: prefix.count + suffix.count, bits: 7, pattern: 0)
        output.append(prefix)
        unsafe output.append(suffix)
    }

    /// Adds a field that only one request has.
    static func append(_ field: HTTP2Header, to output: inout OutputBuffer) {
        let name = Array(field.name.utf8)
        let value = Array(field.value.utf8)
        unsafe name.withUnsafeBufferPointer { name in
            unsafe value.withUnsafeBufferPointer { value in
                unsafe append(literal: name, value, pattern: isSecret(name) ? neverIndexed : literal, to: &output)
            }
        }
    }

    private mutating func find(_ headers: SharedHeaders) -> Template {
        if let index = templates.firstIndex(where: { $0.headers === headers }) {
            current = index
        } else if templates.count < Self.capacity {
            current = templates.count
            templates.append(Template(headers))
        } else {
            current = oldest
            oldest = (oldest + 1) % Self.capacity
            templates[current].headers = headers
            templates[current].version = -1
        }
        let template = templates[current]
        if template.version != table.version || table.hasUnsaidLimits { encode(template) }
        return template
    }

    private mutating func encode(_ template: Template) {
        template.before.removeAll()
        template.after.removeAll()
        let limits = table.takeUnsaidLimits()
        for limit in limits { template.before.append(prefixed: limit, bits: 5, pattern: 0x20) }
        let version = table.version
        let headers = template.headers
        for (number, mark) in headers.marks.enumerated() {
            let name = unsafe UnsafeBufferPointer(rebasing: headers.buffer[mark.name..<mark.value])
            let value = unsafe UnsafeBufferPointer(rebasing: headers.buffer[mark.value..<mark.end])
            if number < SharedHeaders.pseudoHeaders {
                unsafe encode(name, value, into: &template.before)
            } else {
                unsafe encode(name, value, into: &template.after)
            }
        }
        // A block that changes the table is sent once. The next one refers to what this one has inserted.
        template.version = table.version == version && limits.isEmpty ? version : -1
    }

    private mutating func encode(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        into output: inout OutputBuffer
    ) {
        if let index = unsafe Self.staticIndex(name, value) ?? table.index(name, value) {
            return output.append(prefixed: index, bits: 7, pattern: 0x80)
        }
        let isSecret = unsafe Self.isSecret(name)
        guard !isSecret, unsafe !Self.isUnique(name), table.hasRoom(for: name.count, value.count) else {
            let pattern = isSecret ? Self.neverIndexed : Self.literal
            return unsafe Self.append(literal: name, value, pattern: pattern, to: &output)
        }
        let index = unsafe Self.staticName(name)
        output.append(prefixed: index, bits: 6, pattern: 0x40)
        if index == 0 { unsafe Self.append(text: name, to: &output) }
        unsafe Self.append(text: value, to: &output)
        unsafe table.insert(name, value)
    }

    private static func append(
        literal name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        pattern: UInt8,
        to output: inout OutputBuffer
    ) {
        let index = unsafe staticName(name)
        output.append(prefixed: index, bits: 4, pattern: pattern)
        if index == 0 { unsafe append(text: name, to: &output) }
        unsafe append(text: value, to: &output)
    }

    private static func append(text: UnsafeBufferPointer<UInt8>, to output: inout OutputBuffer) {
        output.append(prefixed: text.count, bits: 7, pattern: 0)
        unsafe output.append(text)
    }
}

/// Names and values that the encoder knows.
extension HeaderEncoder {
    /// A literal without indexing (RFC 7541 §6.2.2).
    private static let literal: UInt8 = 0
    /// A literal that no proxy may index either (RFC 7541 §6.2.3).
    private static let neverIndexed: UInt8 = 0x10
    /// `:path` in the static table.
    private static let pathName: UInt8 = 4

    /// Names whose values differ from request to request.
    private static func isUnique(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe name.elementsEqual("apns-id".utf8) || name.elementsEqual("apns-request-id".utf8)
            || name.elementsEqual("apns-collapse-id".utf8)
    }

    private static func isSecret(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe name.elementsEqual("authorization".utf8)
    }

    /// The index of a whole field in the static table (RFC 7541, appendix A).
    private static func staticIndex(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Int? {
        if unsafe name.elementsEqual(":method".utf8) {
            if unsafe value.elementsEqual("GET".utf8) { return 2 }
            if unsafe value.elementsEqual("POST".utf8) { return 3 }
        }
        return unsafe name.elementsEqual(":scheme".utf8) && value.elementsEqual("https".utf8) ? 7 : nil
    }

    /// The index of a name in the static table; 0 for names that a client of APNs does not need.
    private static func staticName(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        if unsafe name.elementsEqual(":authority".utf8) { return 1 }
        if unsafe name.elementsEqual(":method".utf8) { return 2 }
        return unsafe name.elementsEqual("authorization".utf8) ? 23 : 0
    }
}
