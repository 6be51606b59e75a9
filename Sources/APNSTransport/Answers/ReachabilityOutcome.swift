/// Whether this machine can reach one of Apple's APIs.
package enum ReachabilityOutcome: Sendable, Hashable {
    /// Why an API cannot be reached.
    package enum Obstacle: Sendable, Hashable {
        /// The name is unknown, or the TCP connection failed.
        case unreachable
        /// No answer in time; usually a firewall.
        case timedOut
        /// The TLS handshake failed; usually a certificate that no configured trust root has signed.
        case tls
        /// The server does not speak HTTP/2; usually a proxy.
        case noHTTP2
        /// Any other problem; only `detail` describes it.
        case other
    }

    /// The time for name lookup, TCP, TLS with a trusted certificate, and the first SETTINGS of HTTP/2.
    case reached(Duration)
    /// `detail` is for people.
    case failed(Obstacle, detail: String)
}
