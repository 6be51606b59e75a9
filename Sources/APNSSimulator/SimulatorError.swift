/// An error of the simulator, or of a program that controls one.
package struct SimulatorError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    package enum Code: String, Sendable, Hashable {
        /// No simulator answered at the address in time. The request may have been carried out.
        case unreachable
        /// The simulator refused the request and changed nothing.
        case refused
        /// The answer is not from a simulator.
        case badAnswer
        /// A file cannot be read or written.
        case unreadable
        /// An address to listen on is in use, or does not belong to this machine.
        case notListening
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
