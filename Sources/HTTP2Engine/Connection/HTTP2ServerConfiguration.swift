/// Limits of a server's connections.
package struct HTTP2ServerConfiguration: Sendable {
    /// The limit in the first SETTINGS.
    package var maximumConcurrentStreams = 1000
    /// The maximum bytes of one request body. A larger one is truncated to this and marked as incomplete.
    package var maximumRequestBody = 64 * 1024
    /// The maximum bytes of all header fields of one request; more reset the stream.
    package var maximumRequestHeaders = 32 * 1024
    /// The timeout of the TLS handshake.
    package var handshakeTimeout: Duration = .seconds(10)

    package init() {}
}
