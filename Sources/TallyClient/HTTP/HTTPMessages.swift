import Foundation

/// Where the server is.
package struct ServerAddress: Sendable, Hashable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// Before every path; empty, or without a slash at its end.
    let prefix: String

    /// Reads an address such as `https://tally.example.com/prefix`; nil for anything else.
    package init?(_ text: String) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = url.host, !host.isEmpty, url.user == nil, url.query == nil, url.fragment == nil
        else { return nil }
        isSecure = scheme == "https"
        self.host = host
        port = url.port ?? (scheme == "https" ? 443 : 80)
        let path = url.path(percentEncoded: true)
        prefix = path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    /// For the header `Host` (RFC 9110 §7.2).
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}

/// One request as the transport sends it.
package struct HTTPRequest: Sendable {
    var method: String
    /// Path and query, percent-encoded.
    var target: String
    var headers: [(name: String, value: String)]
    var body: [UInt8]?
    /// How long the answer may take; of one that goes on and on, its head.
    var timeout: Duration
    /// Whether it may be sent again when a connection that was kept turns out to be over.
    var isRepeatable: Bool

    package init(
        method: String,
        target: String,
        headers: [(name: String, value: String)],
        body: [UInt8]?,
        timeout: Duration,
        isRepeatable: Bool
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.isRepeatable = isRepeatable
    }
}

/// One answer as it came.
package struct HTTPAnswer: Sendable {
    package var status: Int
    /// Seconds; the form with a date is not one that Tally sends.
    var retryAfter: Int?
    package var body: [UInt8]

    package var isSuccess: Bool { (200..<300).contains(status) }
}

/// How an exchange fails without an answer.
package enum HTTPFailure: Error {
    /// The server did not get the request: no address, connection refused.
    case notSent(any Error)
    /// The server is not who it should be, and got nothing.
    case untrusted(any Error)
    /// The server may have got it.
    case interrupted(any Error)
    case timedOut
    case cancelled
}
