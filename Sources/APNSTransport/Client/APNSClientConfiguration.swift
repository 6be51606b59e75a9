package import HTTP2Engine

/// The limits and timeouts of the transport.
package struct APNSClientConfiguration: Sendable, Hashable {
    /// Who writes and reads the frames of the connections.
    package var http2 = HTTP2Implementation.tally
    /// The proxy that every connection goes through; nil: none.
    package var proxy: APNSProxy?
    /// The maximum number of concurrent connections for one (endpoint, team, key), 1 to 64.
    ///
    /// They are opened on demand. With Apple's usual 1,000 streams and a round trip of 50 ms, sixteen connections carry
    /// 320,000 requests per second. That is more than one thread can send.
    package var maximumConnections = 16
    /// The maximum number of requests of one connection, at most the 2³⁰ − 1 available stream numbers.
    package var maximumRequestsPerConnection = 1_000_000_000
    /// How long a sent request waits for its answer. After that its outcome is unknown.
    package var requestTimeout: Duration = .seconds(10)
    /// The timeout for name lookup, TCP, the proxy, TLS and the first SETTINGS together.
    package var connectTimeout: Duration = .seconds(10)
    /// The pause after the first failed connection. Each further failure doubles it.
    package var reconnectDelay: Duration = .milliseconds(500)
    /// The longest pause between two attempts to connect.
    package var maximumReconnectDelay: Duration = .seconds(30)
    /// How long a new connection may leave its first request unanswered. After that another connection is opened in
    /// addition.
    package var firstAnswerPatience: Duration = .seconds(2)
    /// The pause of a connection after it refused a stream. It doubles with repeated refusals.
    package var refusalPause: Duration = .milliseconds(100)
    /// How old a connection must be before a refused app causes its replacement.
    package var youth: Duration = .seconds(300)
    /// The idle time after which a connection is checked by a PING. Apple suggests an hour.
    package var pingInterval: Duration = .seconds(3600)
    /// The timeout of that PING.
    package var pingTimeout: Duration = .seconds(5)
    /// The idle time after which a connection is closed if another one to the same endpoint exists.
    package var idleTimeout: Duration = .seconds(600)
    /// The idle time after which the last connection to an endpoint is closed. Apple wants connections kept for hours
    /// to days.
    package var lastConnectionIdleTimeout: Duration = .seconds(86_400)
    /// The idle time after which a connection is closed if no app uses its key any more.
    package var abandonedIdleTimeout: Duration = .seconds(60)

    /// The default values.
    package init() {}

    func validate() throws(APNSTransportError) {
        guard (1...64).contains(maximumConnections) else {
            throw APNSTransportError(.invalidConfiguration, "maximumConnections is not from 1 to 64")
        }
        guard (1..<1 << 30).contains(maximumRequestsPerConnection) else {
            throw APNSTransportError(.invalidConfiguration, "maximumRequestsPerConnection is not from 1 to 2³⁰ − 1")
        }
        let durations = [
            ("requestTimeout", requestTimeout), ("connectTimeout", connectTimeout), ("reconnectDelay", reconnectDelay),
            ("maximumReconnectDelay", maximumReconnectDelay), ("firstAnswerPatience", firstAnswerPatience),
            ("refusalPause", refusalPause), ("youth", youth), ("pingInterval", pingInterval),
            ("pingTimeout", pingTimeout), ("idleTimeout", idleTimeout),
            ("lastConnectionIdleTimeout", lastConnectionIdleTimeout), ("abandonedIdleTimeout", abandonedIdleTimeout),
        ]
        for (name, duration) in durations where duration < .milliseconds(1) {
            throw APNSTransportError(.invalidConfiguration, "\(name) is less than a millisecond")
        }
    }
}
