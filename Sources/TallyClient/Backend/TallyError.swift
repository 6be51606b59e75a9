internal import APITypes
internal import JSON

/// Why a call to Tally did not do what was asked for.
public struct TallyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// One thing that is wrong in what was posted.
    public struct Issue: Sendable, Hashable {
        /// Where, as a JSON pointer into the request.
        public let pointer: String
        /// An open set of words.
        public let code: String
        /// For people.
        public let message: String
    }

    /// An open set of words: those of the API (`invalid_content_state`, `activity_ended`, …), `unreachable`,
    /// `timed_out`, `untrusted`, `cancelled`, `bad_answer`, `invalid_address`, `invalid_ca_file`, and
    /// `invalid_argument` for what was refused before it was sent.
    public let code: String
    /// The HTTP status of the refusal; nil if no answer of Tally's came.
    public let status: Int?
    /// For people; holds no key and no content.
    public let detail: String
    /// What is wrong, place by place.
    public let issues: [Issue]
    /// Whether it is not known if the change was accepted, by the last try or by one before it: a repeat with the same
    /// idempotency key is safe. Where it is false, nothing has changed.
    public let isUnknown: Bool
    /// Whether the same call may succeed later: Tally is away or busy, or did not answer. The call has tried until its
    /// deadline.
    public let isRetryable: Bool
    /// How many seconds Tally asks for before the next call, where it does.
    public let retryAfter: Int?

    /// Code, detail and issues in one line.
    public var description: String {
        ([code + ": " + detail] + issues.map { "\($0.pointer): \($0.message)" }).joined(separator: "; ")
    }

    /// What is refused before it is sent.
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
