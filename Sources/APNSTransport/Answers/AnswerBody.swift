internal import JSON

/// The body of an answer that is not a success: `{"reason": "…", "timestamp": 1700000000000}`.
///
/// Read leniently: a missing, empty or foreign body is just one without a reason.
struct AnswerBody: Sendable, Hashable {
    /// Apple's word, or what stood in its place, shortened to 128 characters.
    var reason: String?
    /// Milliseconds since 1970 when APNs found out that the token is dead; only with status 410. Nil where the number is
    /// no time up to the year 9999: the database could not compute with it.
    var timestamp: Int64?

    /// Reads the body.
    init(_ bytes: [UInt8]) {
        // A body that is not JSON says nothing beyond its status, which is known already. Words are kept in the
        // database, which does not take U+0000.
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
