internal import JSON

/// The body of an answer that reports a failure: `{"reason": "…", "timestamp": 1700000000000}`.
///
/// Parsing is lenient: a missing, empty or unknown body has no reason.
struct APNSAnswerBody: Sendable, Hashable {
    /// The reason as sent, shortened to 128 characters.
    var reason: String?
    /// Milliseconds since 1970 when APNs learned that the token is dead; only with status 410. `nil` for a number that
    /// is not a time up to the year 9999, because the database could not compute with it.
    var timestamp: Int64?

    /// Parses the body.
    init(_ bytes: [UInt8]) {
        // A body that is not JSON has no information beyond the status. The reason is stored in the database, which
        // does not accept U+0000.
        guard !bytes.isEmpty, let value = try? JSONValue.parse(bytes, refusesNUL: true) else {
            return
        }
        if let text = value["reason"]?.string, !text.isEmpty {
            reason = String(text.prefix(128))
        }
        if let number = value["timestamp"] {
            let milliseconds = number.int64 ?? number.string.flatMap(Int64.init)
            timestamp = milliseconds.flatMap { Self.times.contains($0) ? $0 : nil }
        }
    }

    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999
}
