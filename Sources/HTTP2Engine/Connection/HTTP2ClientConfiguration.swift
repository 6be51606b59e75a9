/// Limits of a client connection.
package struct HTTP2ClientConfiguration: Sendable {
    /// For name look-up, TCP, TLS and the server's first SETTINGS, all together.
    package var connectTimeout: Duration = .seconds(10)
    /// How long ``HTTP2ClientConnection/close()`` waits for open streams before it fails them.
    package var closeTimeout: Duration = .seconds(5)
    /// Never more requests at once than this, also where the server would allow more or sets no limit.
    package var maximumConcurrentStreams = 1000
    /// Requests that one connection takes in its life, below the 2³⁰ − 1 stream numbers that a client has (RFC 9113
    /// §5.1.1).
    package var maximumRequests = 1_000_000_000
    /// Bytes of one response body; a larger one fails its stream.
    package var maximumResponseBody = 64 * 1024
    /// Bytes of all header fields of one response; more fail its stream.
    package var maximumResponseHeaders = 16 * 1024

    package init() {}
}
