/// The transport cannot start with its configuration. Apple's answers are never errors; they are a ``PushOutcome``.
package struct APNSTransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case invalidEndpoint, invalidConfiguration, trust, resources }
        private let kind: Kind

        /// The URL of an endpoint is not `https://host:port`. An operator must correct the setting that the message
        /// names.
        package static let invalidEndpoint = Code(kind: .invalidEndpoint)
        /// A number is out of its range.
        package static let invalidConfiguration = Code(kind: .invalidConfiguration)
        /// The trust roots cannot be loaded; `cause` has the reason.
        package static let trust = Code(kind: .trust)
        /// The process has no more descriptors or threads; `cause` has the reason.
        package static let resources = Code(kind: .resources)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Details for people, with the name of the setting if one is wrong.
    package let message: String
    package let cause: (any Error)?

    /// Creates an error.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String {
        cause.map { "\(message): \($0)" } ?? message
    }
}
