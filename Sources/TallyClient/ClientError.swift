package import APITypes

/// Why a call to Tally failed.
package struct ClientError: Error, Sendable {
    /// The kind of failure.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case invalidArgument = "invalid_argument"
            case invalidAddress = "invalid_address"
            case invalidCAFile = "invalid_ca_file"
            case unreachable, untrusted
            case timedOut = "timed_out"
            case refused
            case badAnswer = "bad_answer"
            case cancelled
        }
        private let kind: Kind

        /// An argument cannot be sent. Nothing was sent.
        package static let invalidArgument = Code(kind: .invalidArgument)
        /// The server's address is not an http or https URL. Nothing was sent.
        package static let invalidAddress = Code(kind: .invalidAddress)
        /// The file of trusted certificates cannot be read, or contains none. Nothing was sent.
        package static let invalidCAFile = Code(kind: .invalidCAFile)
        /// The server's certificate is for another host, or nobody who is trusted signed it. Nothing was sent.
        package static let untrusted = Code(kind: .untrusted)
        /// The connection failed or broke before an answer, or a proxy reports this with 502, 503 or 504.
        package static let unreachable = Code(kind: .unreachable)
        /// The deadline passed.
        package static let timedOut = Code(kind: .timedOut)
        /// The server answered with a problem: ``ClientError/problem``.
        package static let refused = Code(kind: .refused)
        /// The answer is not from Tally, but from another service at this address or a proxy.
        package static let badAnswer = Code(kind: .badAnswer)
        /// The task was cancelled.
        package static let cancelled = Code(kind: .cancelled)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// The server's problem. Always set for ``Code/refused``.
    package let problem: Problem?
    /// A text for people: the address and the failure there, without keys and bodies.
    package let detail: String
    package let cause: (any Error)?
    /// Whether this or an earlier try may have taken effect. Always false for calls that only read.
    package fileprivate(set) var isUnknown = false
    /// Whether the same request may succeed later.
    package fileprivate(set) var isRetryable = false
    /// The number of seconds to wait before that, if the server gives one.
    package fileprivate(set) var retryAfter: Int?

    package init(code: Code, problem: Problem? = nil, detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.problem = problem
        self.detail = detail
        self.cause = cause
    }
}

extension ClientError {
    /// The same error for a try that may have arrived, although Tally did not answer.
    func mayHaveArrived(_ isUnknown: Bool = true) -> ClientError {
        var copy = self
        copy.isUnknown = isUnknown
        return copy
    }

    /// The same error for a request that may be repeated, after `seconds` at the earliest.
    func retryable(after seconds: Int? = nil) -> ClientError {
        var copy = self
        copy.isRetryable = true
        copy.retryAfter = seconds
        return copy
    }

    /// The error for a problem in Tally's answer.
    package static func refused(_ problem: Problem) -> ClientError {
        let error = ClientError(code: .refused, problem: problem, detail: problem.description)
        return error.mayHaveArrived(problem.leavesOutcomeOpen)
    }

    /// The same error after an earlier try that may have taken effect.
    ///
    /// 409 and 422 prove that no earlier try was carried out, because Tally checks the content only of a request that
    /// it has not carried out before. All other answers leave it open.
    func afterUnknownTry() -> ClientError {
        let isJudged = code == .refused && [409, 422].contains(problem?.status)
        return isJudged ? self : mayHaveArrived()
    }

    /// The same error for a call that only reads.
    func withoutEffect() -> ClientError { mayHaveArrived(false) }
}

extension Problem {
    /// Whether the request may have been carried out, or may still be running.
    fileprivate var leavesOutcomeOpen: Bool { [Code.outcomeUnknown, Code.idempotencyInProgress].contains(code) }
}

extension ClientError: CustomStringConvertible {
    package var description: String { "\(code): \(detail)" }
}
