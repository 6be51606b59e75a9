internal import HTTP2Engine

/// Why a connection accepts no more requests, or has ended.
enum RetirementCause {
    /// It was idle for too long.
    case idle
    /// Its stream numbers are used up.
    case exhausted
    /// The transport shuts down.
    case shutDown
    /// An answer of APNs requires another connection.
    case answer(reason: String?)
    /// The server sent GOAWAY, with `reason` as debug data.
    case goAway(HTTP2ErrorCode, reason: String?)
    /// It refused several streams in a row.
    case refusals
    /// It ended unexpectedly, or was never ready.
    case lost(HTTP2Error?)

    /// The cause from a GOAWAY. Its debug data is a JSON object with a `reason`, one of the same words as in answers.
    init(goAway code: HTTP2ErrorCode, debugData: [UInt8]) {
        self = .goAway(code, reason: APNSAnswerBody(debugData).reason ?? Self.printable(debugData))
    }

    /// Whether no other connection takes its place.
    var isLast: Bool {
        switch self {
        case .shutDown: true
        case .idle, .exhausted, .answer, .goAway, .refusals, .lost: false
        }
    }

    /// Whether this side chose to end it. Then it does not count as a failure.
    var isOurChoice: Bool {
        switch self {
        case .idle, .exhausted, .shutDown: true
        case .answer, .goAway, .refusals, .lost: false
        }
    }

    /// A code for metrics.
    var name: String {
        switch self {
        case .idle: "idle"
        case .exhausted: "exhausted"
        case .shutDown: "shut_down"
        case .answer: "answer"
        case .goAway: "goaway"
        case .refusals: "refusals"
        case .lost: "lost"
        }
    }

    /// The server's reason in its own words, so it must not be a metric label.
    var reason: String? {
        switch self {
        case .answer(let reason), .goAway(_, let reason): reason
        case .idle, .exhausted, .shutDown, .refusals, .lost: nil
        }
    }

    /// Text that is not APNs' JSON, made safe for a log.
    private static func printable(_ bytes: [UInt8]) -> String? {
        let text = bytes.prefix(128).filter { (0x20..<0x7f).contains($0) }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}

extension RetirementCause: CustomStringConvertible {
    /// `GOAWAY ENHANCE_YOUR_CALM TooManyRequests`.
    var description: String {
        switch self {
        case .idle: "idle"
        case .exhausted: "stream numbers used up"
        case .shutDown: "the transport is shutting down"
        case .answer(let reason): "answer \(reason ?? "without a reason")"
        case .goAway(let code, let reason): "GOAWAY \(code)" + (reason.map { " \($0)" } ?? "")
        case .refusals: "it refuses every stream"
        case .lost(let error): error?.description ?? "the connection ended"
        }
    }
}
