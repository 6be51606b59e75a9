internal import HTTP2Engine

/// Why a connection takes no more requests, or ended.
enum RetirementCause {
    /// Nobody needed it.
    case idle
    /// Its stream numbers are used up.
    case exhausted
    /// The transport ends.
    case shutDown
    /// APNs said in an answer that another connection is needed.
    case answer(reason: String?)
    /// The server sent GOAWAY. `reason` is what it gave as debug data.
    case goAway(HTTP2ErrorCode, reason: String?)
    /// It refused one stream after the other.
    case refusals
    /// It came to an end by itself, or never came up.
    case lost(HTTP2Error?)

    /// The cause that a GOAWAY is. APNs puts a JSON object with a `reason` into its debug data, the same words as in
    /// answers.
    init(goAway code: HTTP2ErrorCode, debugData: [UInt8]) {
        self = .goAway(code, reason: AnswerBody(debugData).reason ?? Self.printable(debugData))
    }

    /// Whether it was for our own reasons, which no server takes for trouble.
    var isOurChoice: Bool {
        switch self {
        case .idle, .exhausted, .shutDown: true
        case .answer, .goAway, .refusals, .lost: false
        }
    }

    /// A word for metrics.
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

    /// What the server said about it; its own words, so not fit for a label.
    var reason: String? {
        switch self {
        case .answer(let reason), .goAway(_, let reason): reason
        case .idle, .exhausted, .shutDown, .refusals, .lost: nil
        }
    }

    /// Text that is not APNs' JSON, as far as it is fit for a log.
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
