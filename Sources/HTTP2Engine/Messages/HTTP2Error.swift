/// A connection failed, or a request was refused before it left.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: String, Sendable, Hashable {
        /// The TCP connection failed, or the port is not available. No byte was sent; a retry is safe.
        case unreachable
        /// Connection, handshake, first SETTINGS or a ping timed out.
        case timedOut
        /// The TLS handshake or a record failed; `cause` is a `TLSError`. An operator must check the certificates.
        case tls
        /// The peer did not choose `h2` through ALPN.
        case noHTTP2
        /// The peer violated the protocol.
        case violation
        /// The connection ended or broke. Requests without a response may or may not have been processed.
        case lost
        /// The peer sent far more control frames or resets than a normal one.
        case flooded
        /// HTTP/2 cannot express a request or a response, for example because of a control character in a header. This
        /// is a bug of the caller.
        case invalidRequest
        /// The connection ended after a GOAWAY from the peer with an error code.
        case goAway
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
