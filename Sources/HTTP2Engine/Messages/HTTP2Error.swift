/// A connection could not be made or kept, or a request was refused before it left.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case unreachable, timedOut, tls, noHTTP2, violation, lost, flooded, invalidRequest, goAway
        }
        private let kind: Kind

        /// No TCP connection came about, or no port could be listened on. Nothing was sent; may be retried.
        package static let unreachable = Code(kind: .unreachable)
        /// Connection, handshake, first SETTINGS or a ping took too long.
        package static let timedOut = Code(kind: .timedOut)
        /// The TLS handshake or a record failed; `cause` is a `TLSError`. An operator has to look at certificates.
        package static let tls = Code(kind: .tls)
        /// The peer did not choose `h2` by ALPN.
        package static let noHTTP2 = Code(kind: .noHTTP2)
        /// The peer broke the protocol.
        package static let violation = Code(kind: .violation)
        /// The connection ended or broke. Requests without an answer may or may not have been processed.
        package static let lost = Code(kind: .lost)
        /// The peer sent more control frames or resets than a well-meaning one would.
        package static let flooded = Code(kind: .flooded)
        /// A request or an answer cannot be expressed in HTTP/2, such as a control character in a header. Our mistake.
        package static let invalidRequest = Code(kind: .invalidRequest)
        /// The connection ended after the peer's GOAWAY with an error code.
        package static let goAway = Code(kind: .goAway)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Words for people, without header values or bodies.
    package let detail: String
    package let cause: (any Error)?

    package init(_ code: Code, _ detail: String, cause: (any Error)? = nil) {
        self.code = code
        self.detail = detail
        self.cause = cause
    }

    package var description: String {
        let text = "HTTP/2 \(code): \(detail)"
        return cause.map { "\(text): \($0)" } ?? text
    }
}
