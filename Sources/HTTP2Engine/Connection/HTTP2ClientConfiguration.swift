/// Limits of a client connection.
package struct HTTP2ClientConfiguration: Sendable {
    /// Who writes and reads the frames.
    package var implementation = HTTP2Implementation.tally
    /// The proxy that connections go through; nil: none.
    package var proxy: HTTPProxy?
    /// The limit for name lookup, TCP, the proxy's answer, TLS and the server's first SETTINGS, all together.
    package var connectTimeout: Duration = .seconds(10)
    /// How long ``HTTP2ClientConnection/close()`` waits for open streams before it fails them.
    package var closeTimeout: Duration = .seconds(5)
    /// The maximum number of concurrent requests, even if the server allows more or sets no limit.
    package var maximumConcurrentStreams = 1000
    /// The maximum number of requests of one connection. It must be below the 2³⁰ − 1 stream numbers of a client (RFC
    /// 9113 §5.1.1).
    package var maximumRequests = 1_000_000_000
    /// The maximum bytes of one response body; a larger one fails its stream.
    package var maximumResponseBody = 64 * 1024
    /// The maximum bytes of all header fields of one response; more fail its stream.
    package var maximumResponseHeaders = 16 * 1024

    package init() {}
}
