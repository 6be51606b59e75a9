/// Limits of a server's connections.
package struct HTTP2ServerConfiguration: Sendable {
    /// What the first SETTINGS allow.
    package var maximumConcurrentStreams = 1000
    /// Bytes of one request body; of a larger one this much is handed over, marked as incomplete.
    package var maximumRequestBody = 64 * 1024
    /// Bytes of all header fields of one request; more resets the stream.
    package var maximumRequestHeaders = 32 * 1024
    /// For the TLS handshake.
    package var handshakeTimeout: Duration = .seconds(10)

    package init() {}
}
