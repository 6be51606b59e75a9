/// Why the simulator, or the program that controls one, could not do what was asked.
package struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String, Sendable { case unreachable, refused, badAnswer, unreadable, notListening }
        private let kind: Kind

        /// There is no simulator at the address, or it did not answer in time. What was asked may have happened.
        package static let unreachable = Code(kind: .unreachable)
        /// The simulator said no; nothing happened.
        package static let refused = Code(kind: .refused)
        /// The answer is not a simulator's.
        package static let badAnswer = Code(kind: .badAnswer)
        /// A file cannot be read or written.
        package static let unreadable = Code(kind: .unreadable)
        /// An address to listen on is taken, or is none of this machine's.
        package static let notListening = Code(kind: .notListening)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Words for people.
    package let detail: String
    package let cause: (any Error)?

    package init(_ code: Code, _ detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.detail = detail
        self.cause = cause
    }

    package var description: String { detail }
}
