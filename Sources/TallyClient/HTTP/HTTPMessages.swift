import Foundation

/// The address of the server.
package struct ServerAddress: Sendable, Hashable {
    let isSecure: Bool
    let host: String
    let port: Int
    /// Precedes every path. Empty, or without a slash at its end.
    let prefix: String

    /// Parses an address such as `https://tally.example.com/prefix`; nil for any other text.
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

    /// An address without a prefix. `host` has no brackets.
    package init(isSecure: Bool, host: String, port: Int) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        prefix = ""
    }

    /// The value of the header `Host` (RFC 9110 §7.2).
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
    /// How long the answer may take. For a stream, only its head.
    var timeout: Duration
    /// Whether it may be sent again if a reused connection turns out to be closed.
    var isRepeatable: Bool
    /// Whether the body follows part by part while the answer is read.
    var streamsBody = false

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

/// One complete answer.
package struct HTTPReply: Sendable {
    package var status: Int
    /// In seconds. Tally never sends the date form.
    package var retryAfter: Int?
    package var body: [UInt8]

    package var isSuccess: Bool { (200..<300).contains(status) }
}

/// Why an exchange ended without an answer.
package enum HTTPFailure: Error {
    /// The server did not receive the request: no address, or connection refused.
    case notSent(any Error)
    /// The server could not prove its identity and received nothing.
    case untrusted(any Error)
    /// The server may have received the request.
    case interrupted(any Error)
    case timedOut
    case cancelled
}
