/// The header fields that many requests share. They are checked and laid out once.
///
/// The path of a request is ``pathPrefix`` followed by the suffix from its submission.
@safe
package final class SharedHeaders: Sendable {
    struct Mark: Sendable {
        let name: Int
        let value: Int
        let end: Int
    }

    // Never written after init, so any thread may read.
    private nonisolated(unsafe) let storage: UnsafeMutableBufferPointer<UInt8>
    /// Pseudo-headers first (RFC 9113 §8.3), without `:path`.
    let marks: [Mark]
    let pathPrefix: [UInt8]

    /// The number of pseudo-headers in ``marks``.
    static let pseudoHeaders = 3

    /// Checks and copies the fields.
    ///
    /// - `authority`: the host, with the port unless it is 443.
    /// - `fields`: names in lower case; every request sends them in this order with the same bytes.
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` for a control character, an upper-case name or a forbidden field.
    package init(
        method: String = "POST",
        authority: String,
        pathPrefix: String = "",
        fields: [HTTP2Header]
    ) throws(HTTP2Error) {
        for field in fields { try HeaderRules.check(field) }
        for (name, value) in [(":method", method), (":authority", authority)] {
            guard !value.isEmpty, HeaderRules.isVisible(value.utf8) else {
                throw HTTP2Error(.invalidRequest, "\(name) is not allowed in a request")
            }
        }
        guard HeaderRules.isVisible(pathPrefix.utf8) else {
            throw HTTP2Error(.invalidRequest, ":path is not allowed in a request")
        }
        self.pathPrefix = Array(pathPrefix.utf8)
        var bytes: [UInt8] = []
        var marks: [Mark] = []
        let pseudo = [(":method", method), (":scheme", "https"), (":authority", authority)]
        for (name, value) in pseudo + fields.map({ ($0.name, $0.value) }) {
            let start = bytes.count
            bytes += name.utf8
            let middle = bytes.count
            bytes += value.utf8
            marks.append(Mark(name: start, value: middle, end: bytes.count))
        }
        self.marks = marks
        unsafe storage = .allocate(capacity: bytes.count)
        _ = unsafe storage.initialize(fromContentsOf: bytes)
    }

    deinit {
        unsafe storage.deallocate()
    }

    /// Checks the path of a request: visible characters that begin with a slash.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if the path is not allowed.
    func checkPath(suffix: Span<UInt8>) throws(HTTP2Error) {
        let first = pathPrefix.first ?? (suffix.isEmpty ? 0 : suffix[0])
        let isVisible = unsafe suffix.withUnsafeBufferPointer { unsafe HeaderRules.isVisible($0) }
        guard first == UInt8(ascii: "/"), isVisible else {
            throw HTTP2Error(.invalidRequest, ":path is not allowed in a request")
        }
    }

    /// Names and values; valid as long as this object lives.
    var buffer: UnsafeBufferPointer<UInt8> { unsafe UnsafeBufferPointer(storage) }
}
