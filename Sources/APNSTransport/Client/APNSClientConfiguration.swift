/// Limits and waiting times of the transport.
package struct APNSClientConfiguration: Sendable, Hashable {
    /// How many connections one (endpoint, team, key) may use at a time, 1 to 64.
    ///
    /// They are opened when the work needs them. With Apple's usual 1,000 streams and a round trip of 50 ms, sixteen
    /// carry 320,000 requests a second, which is more than one thread makes.
    package var maximumConnections = 16
    /// How many requests one connection carries in its life, at most the 2³⁰ − 1 stream numbers that there are.
    package var maximumRequestsPerConnection = 1_000_000_000
    /// How long a request that left may wait for its answer; after that its outcome is unknown.
    package var requestTimeout: Duration = .seconds(10)
    /// For name look-up, TCP, TLS and the first SETTINGS together.
    package var connectTimeout: Duration = .seconds(10)
    /// The wait after the first failed connection; it doubles with each further one.
    package var reconnectDelay: Duration = .milliseconds(500)
    /// The longest wait between two attempts to connect.
    package var maximumReconnectDelay: Duration = .seconds(30)
    /// How long a new connection may leave its first request unanswered before another connection is opened beside it.
    package var firstAnswerPatience: Duration = .seconds(2)
    /// How long a connection that refused a stream gets no further request; doubled when it does so again and again.
    package var refusalPause: Duration = .milliseconds(100)
    /// How old a connection must be to be replaced because it refuses an app as unknown.
    package var youth: Duration = .seconds(300)
    /// After how much idle time a connection is asked for a sign of life. Apple suggests an hour.
    package var pingInterval: Duration = .seconds(3600)
    /// How long a connection may leave that unanswered.
    package var pingTimeout: Duration = .seconds(5)
    /// After how much idle time a connection is closed as long as there is another one to the same place.
    package var idleTimeout: Duration = .seconds(600)
    /// After how much idle time the last connection to a place is closed. Apple wants them kept for hours to days.
    package var lastConnectionIdleTimeout: Duration = .seconds(86_400)
    /// After how much idle time a connection is closed whose key no app uses any more.
    package var abandonedIdleTimeout: Duration = .seconds(60)

    /// The defaults.
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
