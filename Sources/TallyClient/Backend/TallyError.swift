internal import APITypes
internal import JSON

/// Why a call to Tally failed.
public struct TallyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One error in the posted data.
    public struct Issue: Sendable, Hashable {
        /// The position, as a JSON pointer into the request.
        public let pointer: String
        /// A word for programs. Later versions may add more.
        public let code: String
        /// A sentence for people.
        public let message: String
    }

    /// A word for programs; later versions may add more. It is a code of the API (`invalid_content_state`,
    /// `activity_ended`, …), `unreachable`, `timed_out`, `untrusted`, `cancelled`, `bad_answer`, `invalid_address`,
    /// `invalid_ca_file`, or `invalid_argument`. The last means that the client refused the call before sending it.
    public let code: String
    /// The HTTP status of Tally's refusal; nil without an answer from Tally.
    public let status: Int?
    /// A sentence for people, without keys and content.
    public let detail: String
    /// All errors with their positions.
    public let issues: [Issue]
    /// Whether this or an earlier try may have changed something. A repeat with the same idempotency key is safe. If
    /// false, nothing has changed.
    public let isUnknown: Bool
    /// Whether the same call may succeed later, because Tally is unavailable, busy, or did not answer. The call has
    /// already retried until its deadline.
    public let isRetryable: Bool
    /// The number of seconds to wait before the next call, if Tally gives one.
    public let retryAfter: Int?

    /// Code, detail and issues on one line.
    public var description: String {
        ([code + ": " + detail] + issues.map { "\($0.pointer): \($0.message)" }).joined(separator: "; ")
    }

    /// An error for an argument that the client refuses before sending it.
    init(invalidArgument detail: String) {
        code = "invalid_argument"
        self.detail = detail
        status = nil
        issues = []
        isUnknown = false
        isRetryable = false
        retryAfter = nil
    }

    init(_ error: ClientError) {
        code = error.problem?.code ?? error.code.description
        status = error.problem?.status
        detail = error.problem?.detail ?? error.detail
        issues = (error.problem?.errors ?? []).map {
            Issue(pointer: $0.pointer.description, code: $0.code, message: $0.message)
        }
        isUnknown = error.isUnknown
        isRetryable = error.isRetryable
        retryAfter = error.retryAfter
    }
}
