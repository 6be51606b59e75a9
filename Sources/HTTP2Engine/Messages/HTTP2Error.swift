/// A connection failed, or a request was refused before it left.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable {
            case unreachable, timedOut, tls, noHTTP2, violation, lost, flooded, invalidRequest, goAway
        }
        private let kind: Kind

        /// The TCP connection failed, or the port is not available. No byte was sent; a retry is safe.
        package static let unreachable = Code(kind: .unreachable)
        /// Connection, handshake, first SETTINGS or a ping timed out.
        package static let timedOut = Code(kind: .timedOut)
        /// The TLS handshake or a record failed; `cause` is a `TLSError`. An operator must check the certificates.
        package static let tls = Code(kind: .tls)
        /// The peer did not choose `h2` through ALPN.
        package static let noHTTP2 = Code(kind: .noHTTP2)
        /// The peer violated the protocol.
        package static let violation = Code(kind: .violation)
        /// The connection ended or broke. Requests without a response may or may not have been processed.
        package static let lost = Code(kind: .lost)
        /// The peer sent far more control frames or resets than a normal one.
        package static let flooded = Code(kind: .flooded)
        /// HTTP/2 cannot express a request or a response, for example because of a control character in a header. This
        /// is a bug of the caller.
        package static let invalidRequest = Code(kind: .invalidRequest)
        /// The connection ended after a GOAWAY from the peer with an error code.
        package static let goAway = Code(kind: .goAway)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// Details for people, without header values or bodies.
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
