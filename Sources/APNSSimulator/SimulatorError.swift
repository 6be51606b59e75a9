/// An error of the simulator, or of a program that controls one.
package struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, Sendable { case unreachable, refused, badAnswer, unreadable, notListening }
        private let kind: Kind

        /// No simulator answered at the address in time. The request may have been carried out.
        package static let unreachable = Code(kind: .unreachable)
        /// The simulator refused the request and changed nothing.
        package static let refused = Code(kind: .refused)
        /// The answer is not from a simulator.
        package static let badAnswer = Code(kind: .badAnswer)
        /// A file cannot be read or written.
        package static let unreadable = Code(kind: .unreadable)
        /// An address to listen on is in use, or does not belong to this machine.
        package static let notListening = Code(kind: .notListening)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// A text for people.
    package let detail: String
    package let cause: (any Error)?

    package init(_ code: Code, _ detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.detail = detail
        self.cause = cause
    }

    package var description: String { detail }
}
