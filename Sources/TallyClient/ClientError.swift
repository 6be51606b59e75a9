package import APITypes

/// Why a call to Tally did not bring the answer that was asked for.
package struct ClientError: Error, Sendable {
    /// What kind of failure it is.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case invalidAddress, invalidCAFile, unreachable, untrusted, timedOut, refused, badAnswer, cancelled
        }
        private let kind: Kind

        /// The server's address is not an http or https URL. Nothing was sent.
        package static let invalidAddress = Code(kind: .invalidAddress)
        /// The file of trusted certificates cannot be read, or holds none. Nothing was sent.
        package static let invalidCAFile = Code(kind: .invalidCAFile)
        /// The server's certificate is not for the host that was asked, or signed by nobody who is trusted. Nothing was sent.
        package static let untrusted = Code(kind: .untrusted)
        /// No connection, or it broke before an answer. In the second case the request may have taken effect.
        package static let unreachable = Code(kind: .unreachable)
        /// The deadline passed. The request may have taken effect.
        package static let timedOut = Code(kind: .timedOut)
        /// The server answered with a problem; see ``ClientError/problem``. Nothing took effect.
        package static let refused = Code(kind: .refused)
        /// The answer is not one of Tally's: another service at this address, or a proxy. The request may have taken
        /// effect.
        package static let badAnswer = Code(kind: .badAnswer)
        /// The task was cancelled. The request may have taken effect.
        package static let cancelled = Code(kind: .cancelled)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// What the server said; always there for ``Code/refused``.
    package let problem: Problem?
    /// For people: the address and what went wrong there. Holds no key and no body.
    package let detail: String
    package let cause: (any Error)?

    package init(code: Code, problem: Problem? = nil, detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.problem = problem
        self.detail = detail
        self.cause = cause
    }

    static func refused(_ problem: Problem) -> ClientError {
        ClientError(code: .refused, problem: problem, detail: problem.description)
    }
}

extension ClientError: CustomStringConvertible {
    package var description: String { "\(code): \(detail)" }
}
