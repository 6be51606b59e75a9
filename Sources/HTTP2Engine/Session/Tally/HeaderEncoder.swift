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
    struct Template: ~Copyable {
        var headers: SharedHeaders
        var version = -1
        var before = OutputBuffer(capacity: 256)
        var after = OutputBuffer(capacity: 512)
    }

    /// As many as ``SharedHeaders`` that are in use at the same time.
    private static let capacity = 8

    private var table = HeaderTable()
    private var templates = Slots<Template>(capacity: Self.capacity)
    /// The template that was used last.
    private var current = 0
    /// The template that the next new headers replace.
    private var oldest = 0

    /// Follows the server's SETTINGS_HEADER_TABLE_SIZE.
    mutating func setTableSize(_ size: Int) {
        table.setLimit(size)
    }

    /// Adds the block of a request. It changes the table as the server's decoder will.
    mutating func append(_ headers: SharedHeaders, _ pathSuffix: [UInt8], to output: inout OutputBuffer) {
        if !isCurrent(headers) { find(headers) }
        output.append(templates[current].before)
        output.append(byte: Self.literal | Self.pathName)
        output.append(prefixed: headers.pathPrefix.count + pathSuffix.count, bits: 7, pattern: 0)
        output.append(headers.pathPrefix)
        output.append(pathSuffix)
        output.append(templates[current].after)
    }

    /// Whether the template that was used last is the right one.
    private func isCurrent(_ headers: SharedHeaders) -> Bool {
        current < templates.count && templates[current].headers === headers
            && templates[current].version == table.version && !table.hasUnsaidLimits
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

    /// Makes ``current`` the template of `headers`, and encodes it if need be.
    private mutating func find(_ headers: SharedHeaders) {
        if let index = templates.indices.first(where: { templates[$0].headers === headers }) {
            current = index
        } else if templates.count < Self.capacity {
            current = templates.count
            templates.append(Template(headers: headers))
        } else {
            current = oldest
            oldest = (oldest + 1) % Self.capacity
            templates[current].headers = headers
            templates[current].version = -1
        }
        if templates[current].version != table.version || table.hasUnsaidLimits { encode(headers) }
    }

    /// Encodes the current template.
    private mutating func encode(_ headers: SharedHeaders) {
        templates[current].before.removeAll()
        templates[current].after.removeAll()
        let limits = table.takeUnsaidLimits()
        for limit in limits { templates[current].before.append(prefixed: limit, bits: 5, pattern: 0x20) }
        let version = table.version
        for (number, mark) in headers.marks.enumerated() {
            let name = unsafe UnsafeBufferPointer(rebasing: headers.buffer[mark.name..<mark.value])
            let value = unsafe UnsafeBufferPointer(rebasing: headers.buffer[mark.value..<mark.end])
            if number < SharedHeaders.pseudoHeaders {
                unsafe Self.encode(name, value, &table, into: &templates[current].before)
            } else {
                unsafe Self.encode(name, value, &table, into: &templates[current].after)
            }
        }
        // A block that changes the table is sent once. The next one refers to what this one has inserted.
        templates[current].version = table.version == version && limits.isEmpty ? version : -1
    }

    private static func encode(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        _ table: inout HeaderTable,
        into output: inout OutputBuffer
    ) {
        if let index = unsafe staticIndex(name, value) ?? table.index(name, value) {
            return output.append(prefixed: index, bits: 7, pattern: 0x80)
        }
        let isSecret = unsafe isSecret(name)
        guard !isSecret, unsafe !isUnique(name), table.hasRoom(for: name.count, value.count) else {
            let pattern = isSecret ? neverIndexed : literal
            return unsafe append(literal: name, value, pattern: pattern, to: &output)
        }
        let index = unsafe staticName(name)
        output.append(prefixed: index, bits: 6, pattern: 0x40)
        if index == 0 { unsafe append(text: name, to: &output) }
        unsafe append(text: value, to: &output)
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
        unsafe name.equals("apns-id") || name.equals("apns-request-id")
            || name.equals("apns-collapse-id")
    }

    private static func isSecret(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe name.equals("authorization")
    }

    /// The index of a whole field in the static table (RFC 7541, appendix A).
    private static func staticIndex(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Int? {
        if unsafe name.equals(":method") {
            if unsafe value.equals("GET") { return 2 }
            if unsafe value.equals("POST") { return 3 }
        }
        return unsafe name.equals(":scheme") && value.equals("https") ? 7 : nil
    }

    /// The index of a name in the static table; 0 for names that a client of APNs does not need.
    private static func staticName(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        if unsafe name.equals(":authority") { return 1 }
        if unsafe name.equals(":method") { return 2 }
        return unsafe name.equals("authorization") ? 23 : 0
    }
}
