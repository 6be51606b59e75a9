import HTTPTypes

/// The `traceparent` of a request (W3C Trace Context): which trace it belongs to, for the log.
struct TraceParent: Sendable, Hashable {
    /// 32 hex digits.
    let traceID: String
    /// The caller's span, 16 hex digits.
    let spanID: String

    /// Reads the header; nil for anything that the specification (§3.2.2) calls invalid, which is then as if it were not
    /// there. Later versions may append further parts.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, Self.isHex(parts[0], 2), parts[0] != "ff", Self.isHex(parts[1], 32),
            Self.isHex(parts[2], 16), Self.isHex(parts[3], 2), parts[0] != "00" || parts.count == 4,
            parts[1].contains(where: { $0 != "0" }), parts[2].contains(where: { $0 != "0" })
        else { return nil }
        traceID = String(parts[1])
        spanID = String(parts[2])
    }

    private static func isHex(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}

extension HTTPField.Name {
    // As in ``HTTPField/Name/requestID``.
    static let traceParent = HTTPField.Name("traceparent") ?? .server
}
