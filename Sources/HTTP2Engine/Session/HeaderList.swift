import CNGHTTP2

/// Header fields in the form that the library takes, built for one call and lent to it.
///
/// A session keeps one and reuses it: in a run of requests with the same shared fields only the path changes.
@safe
struct HeaderList: ~Copyable {
    private var entries: [nghttp2_nv] = unsafe []
    /// Whose fields `entries` points into; held, so that no other object can take its address.
    private var current: SharedHeaders?
    private var path: [UInt8] = []
    private let pathName = SharedBytes(":path".utf8)

    private static let copiedName = UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
    private static let copiedValue = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    private static let copiedNeither = copiedName | copiedValue
    private static let copiedBoth = UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)

    /// Lays out a request and lends it to `body`.
    ///
    /// The library reads `headers` again when it serialises the request, so the caller keeps them alive until the stream is
    /// over. Path and extra fields are copied by the library at once.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` when the path or an extra field may not be sent.
    mutating func withRequest(
        _ headers: SharedHeaders,
        pathSuffix: Span<UInt8>,
        extra: [HTTP2Header],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Int32
    ) throws(HTTP2Error) -> Int32 {
        for field in extra { try HeaderRules.check(field) }
        if current !== headers { rebuild(headers) }
        path.removeSubrange(headers.pathPrefix.count...)
        let isVisible = unsafe pathSuffix.withUnsafeBufferPointer { suffix in
            unsafe path.append(contentsOf: suffix)
            return unsafe HeaderRules.isVisible(suffix)
        }
        guard isVisible, path.first == UInt8(ascii: "/") else {
            throw HTTP2Error(.invalidRequest, ":path is not allowed in a request")
        }
        return unsafe path.withUnsafeMutableBufferPointer { path in
            unsafe entries[SharedHeaders.pseudoHeaders].value = path.baseAddress
            unsafe entries[SharedHeaders.pseudoHeaders].valuelen = path.count
            guard extra.isEmpty else { return unsafe Self.withFields(entries, extra, body) }
            return unsafe entries.withUnsafeBufferPointer(body)
        }
    }

    /// Lays out an answer and lends it to `body`; the library copies everything at once.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` when the status or a field may not be sent.
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
        // Only read by the library, whose type has no const.
        let base = unsafe UnsafeMutablePointer(mutating: headers.buffer.baseAddress)
        unsafe entries.removeAll(keepingCapacity: true)
        for mark in headers.marks {
            unsafe entries.append(
                nghttp2_nv(
                    name: base.map { unsafe $0 + mark.name },
                    value: base.map { unsafe $0 + mark.value },
                    namelen: mark.value - mark.name,
                    valuelen: mark.end - mark.value,
                    flags: Self.copiedNeither
                )
            )
        }
        let path = unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: pathName.buffer.baseAddress),
            value: nil,
            namelen: pathName.count,
            valuelen: 0,
            flags: Self.copiedValue
        )
        unsafe entries.insert(path, at: SharedHeaders.pseudoHeaders)
        self.path = headers.pathPrefix
        current = headers
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
