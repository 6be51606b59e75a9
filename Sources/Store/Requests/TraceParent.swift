/// The `traceparent` of a request (W3C Trace Context): which trace it belongs to.
package struct TraceParent: Sendable, Hashable, CustomStringConvertible {
    /// 32 hex digits.
    package let traceID: String
    /// The caller's span, 16 hex digits.
    package let spanID: String
    /// 2 hex digits, such as `01` for a trace that is recorded.
    let flags: String

    /// Reads the header; nil for anything that the specification (§3.2.2) calls invalid, which is then as if it were
    /// not there. Later versions may append further parts.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, Self.isHex(parts[0], 2), parts[0] != "ff", Self.isHex(parts[1], 32),
            Self.isHex(parts[2], 16), Self.isHex(parts[3], 2), parts[0] != "00" || parts.count == 4,
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        traceID = String(parts[1])
        spanID = String(parts[2])
        flags = String(parts[3])
    }

    /// In the form of version 00.
    package var description: String { "00-\(traceID)-\(spanID)-\(flags)" }

    private static func isHex(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
