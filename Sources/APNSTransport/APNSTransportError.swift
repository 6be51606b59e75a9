/// The transport cannot be set up as it is configured. What Apple answers is never an error but an outcome.
package struct APNSTransportError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case invalidEndpoint, invalidConfiguration, trust, resources }
        private let kind: Kind

        /// A URL of an endpoint is not `https://host:port`. An operator has to mend the setting that the message names.
        package static let invalidEndpoint = Code(kind: .invalidEndpoint)
        /// A number is out of its range.
        package static let invalidConfiguration = Code(kind: .invalidConfiguration)
        /// The trust roots cannot be loaded; `cause` says why.
        package static let trust = Code(kind: .trust)
        /// The process is out of descriptors or threads; `cause` says why.
        package static let resources = Code(kind: .resources)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Words for people; names the setting where one is to blame.
    package let message: String
    package let cause: (any Error)?

    /// An error of `code`.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String {
        cause.map { "\(message): \($0)" } ?? message
    }
}
