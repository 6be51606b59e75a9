/// Whether one of Apple's APIs can be reached from here.
package enum ReachabilityOutcome: Sendable, Hashable {
    /// What is in the way.
    package enum Obstacle: Sendable, Hashable {
        /// The name is not known, or no TCP connection came about.
        case unreachable
        /// Nothing answered in time: mostly a firewall.
        case timedOut
        /// The TLS handshake failed: mostly a certificate that no trust root of ours vouches for.
        case tls
        /// Whatever answers there does not speak HTTP/2: mostly a proxy.
        case noHTTP2
        /// Something else, told in words only.
        case other
    }

    /// Name, TCP, TLS with a trusted certificate and the first SETTINGS of HTTP/2 took so long.
    case reached(Duration)
    /// `detail` is for people.
    case failed(Obstacle, detail: String)
}
