import CNGHTTP2

/// Header fields in the library's form, built and lent for one call.
///
/// A session reuses one list. For consecutive requests with the same shared fields, only the path changes.
@safe
struct HeaderList: ~Copyable {
    /// The list owns it, like the path. Two requests with the same shared fields touch no other memory.
    private var entries = unsafe UnsafeMutableBufferPointer<nghttp2_nv>(start: nil, count: 0)
    /// The owner of the fields that `entries` points into. It is retained so that no other object gets its address.
    private var current: SharedHeaders?
    private var path = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 256)
    private let pathName = SharedBytes(":path".utf8)

    private static let copiedName = UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
    private static let copiedValue = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    private static let copiedNeither = copiedName | copiedValue
    private static let copiedBoth = UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)

    deinit {
        unsafe entries.deallocate()
        unsafe path.deallocate()
    }

    /// Lays out a request; the result is valid until the next call.
    ///
    /// The library reads `headers` again when it serializes the request, so the caller keeps them alive until the
    /// stream has ended. The library copies the path at once.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if the path is not allowed.
    mutating func layOut(
        _ headers: SharedHeaders,
        pathSuffix: Span<UInt8>
    ) throws(HTTP2Error) -> UnsafeBufferPointer<nghttp2_nv> {
        try headers.checkPath(suffix: pathSuffix)
        if current !== headers { rebuild(headers) }
        let start = headers.pathPrefix.count
        let end = start + pathSuffix.count
        if unsafe end > path.count { growPath(to: 2 * end, keeping: start) }
        unsafe pathSuffix.withUnsafeBufferPointer { suffix in
            _ = unsafe path[start..<end].update(fromContentsOf: suffix)
        }
        unsafe entries[SharedHeaders.pseudoHeaders].value = path.baseAddress
        unsafe entries[SharedHeaders.pseudoHeaders].valuelen = end
        return unsafe UnsafeBufferPointer(entries)
    }

    /// The same with additional fields, lent to `body`; the library copies these at once.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if the path or an extra field is not allowed.
    mutating func withRequest(
        _ headers: SharedHeaders,
        pathSuffix: Span<UInt8>,
        extra: [HTTP2Header],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) throws(HTTP2Error) -> Int32 {
        for field in extra { try HeaderRules.check(field) }
        return unsafe Self.withFields(Array(try layOut(headers, pathSuffix: pathSuffix)), extra, body)
    }

    /// Lays out a response and lends it to `body`. The library copies everything at once.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if the status or a field is not allowed.
    static func withResponse(
        status: Int,
        fields: [HTTP2Header],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) throws(HTTP2Error) -> Int32 {
        guard (200...599).contains(status) else { throw HTTP2Error(.invalidRequest, "status \(status)") }
        for field in fields { try HeaderRules.check(field) }
        return unsafe withFields([], [HTTP2Header(":status", String(status))] + fields, body)
    }

    private mutating func rebuild(_ headers: SharedHeaders) {
        // The library only reads it, but its C type has no `const`.
        let base = unsafe UnsafeMutablePointer(mutating: headers.buffer.baseAddress)
        var list = unsafe headers.marks.map { mark in
            unsafe nghttp2_nv(
                name: base.map { unsafe $0 + mark.name },
                value: base.map { unsafe $0 + mark.value },
                namelen: mark.value - mark.name,
                valuelen: mark.end - mark.value,
                flags: Self.copiedNeither
            )
        }
        let path = unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: pathName.buffer.baseAddress),
            value: nil,
            namelen: pathName.count,
            valuelen: 0,
            flags: Self.copiedValue
        )
        unsafe list.insert(path, at: SharedHeaders.pseudoHeaders)
        unsafe entries.deallocate()
        unsafe entries = .allocate(capacity: list.count)
        _ = unsafe entries.initialize(fromContentsOf: list)
        if unsafe headers.pathPrefix.count > self.path.count { growPath(to: 2 * headers.pathPrefix.count, keeping: 0) }
        _ = unsafe self.path.update(fromContentsOf: headers.pathPrefix)
        current = headers
    }

    private mutating func growPath(to capacity: Int, keeping count: Int) {
        let larger = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: capacity)
        _ = unsafe larger.update(fromContentsOf: path.prefix(count))
        unsafe path.deallocate()
        unsafe path = larger
    }

    private static func withFields(
        _ first: [nghttp2_nv],
        _ fields: [HTTP2Header],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) -> Int32 {
        var bytes: [UInt8] = []
        for field in fields {
            bytes += field.name.utf8
            bytes += field.value.utf8
        }
        return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var all = unsafe first
            var next = buffer.baseAddress
            for field in fields {
                let name = unsafe next
                let value = unsafe name.map { unsafe $0 + field.name.utf8.count }
                unsafe next = value.map { unsafe $0 + field.value.utf8.count }
                unsafe all.append(
                    nghttp2_nv(
                        name: name,
                        value: value,
                        namelen: field.name.utf8.count,
                        valuelen: field.value.utf8.count,
                        flags: copiedBoth
                    )
                )
            }
            return unsafe all.withUnsafeBufferPointer(body)
        }
    }
}
