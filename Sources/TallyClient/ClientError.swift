package import APITypes

/// Why a call to Tally did not bring the answer that was asked for.
package struct ClientError: Error, Sendable {
    /// What kind of failure it is.
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

        /// Something that the caller gave cannot be sent. Nothing was.
        package static let invalidArgument = Code(kind: .invalidArgument)
        /// The server's address is not an http or https URL. Nothing was sent.
        package static let invalidAddress = Code(kind: .invalidAddress)
        /// The file of trusted certificates cannot be read, or holds none. Nothing was sent.
        package static let invalidCAFile = Code(kind: .invalidCAFile)
        /// The server's certificate is not for the host that was asked, or signed by nobody who is trusted. Nothing was
        /// sent.
        package static let untrusted = Code(kind: .untrusted)
        /// No connection, or it broke before an answer; or a proxy says so with 502, 503 or 504.
        package static let unreachable = Code(kind: .unreachable)
        /// The deadline passed.
        package static let timedOut = Code(kind: .timedOut)
        /// The server answered with a problem; see ``ClientError/problem``.
        package static let refused = Code(kind: .refused)
        /// The answer is not one of Tally's: another service at this address, or a proxy.
        package static let badAnswer = Code(kind: .badAnswer)
        /// The task was cancelled.
        package static let cancelled = Code(kind: .cancelled)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// What the server said; always there for ``Code/refused``.
    package let problem: Problem?
    /// For people: the address and what went wrong there. Holds no key and no body.
    package let detail: String
    package let cause: (any Error)?
    /// Whether the request may have taken effect all the same, by the last try or by one before it. Never for a look,
    /// which has no effect.
    package fileprivate(set) var isUnknown = false
    /// Whether the same request may succeed later.
    package fileprivate(set) var isRetryable = false
    /// How many seconds the server asks for until then.
    package fileprivate(set) var retryAfter: Int?

    package init(code: Code, problem: Problem? = nil, detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.problem = problem
        self.detail = detail
        self.cause = cause
    }
}

extension ClientError {
    /// A try that failed without an answer of Tally's, after the request may have arrived.
    func mayHaveArrived(_ isUnknown: Bool = true) -> ClientError {
        var copy = self
        copy.isUnknown = isUnknown
        return copy
    }

    /// One after which the request may be sent again, not before `seconds` have passed.
    func retryable(after seconds: Int? = nil) -> ClientError {
        var copy = self
        copy.isRetryable = true
        copy.retryAfter = seconds
        return copy
    }

    /// What a problem of Tally's says of the request.
    package static func refused(_ problem: Problem) -> ClientError {
        let error = ClientError(code: .refused, problem: problem, detail: problem.description)
        return error.mayHaveArrived(problem.leavesOutcomeOpen)
    }

    /// The same after earlier tries of which one may have taken effect.
    ///
    /// Tally judges a request by what it says only when it knows that it is no repeat: with 409 and 422, no try before
    /// it was carried out. Of every other answer that is not known.
    func afterUnknownTry() -> ClientError {
        let isJudged = code == .refused && [409, 422].contains(problem?.status)
        return isJudged ? self : mayHaveArrived()
    }

    /// The same of a call that has no effect.
    func withoutEffect() -> ClientError { mayHaveArrived(false) }
}

extension Problem {
    /// Whether the request may have been carried out, or may still be.
    fileprivate var leavesOutcomeOpen: Bool { [Code.outcomeUnknown, Code.idempotencyInProgress].contains(code) }
}

extension ClientError: CustomStringConvertible {
    package var description: String { "\(code): \(detail)" }
}
