/// An HTTP proxy that joins connections to servers by CONNECT (RFC 9110 §9.3.6).
package struct HTTPProxy: Sendable, Hashable, CustomStringConvertible {
    package let host: String
    package let port: UInt16
    /// The value of `Proxy-Authorization`; nil: none. Secret.
    let authorization: String?

    /// - `authorization`: the value of `Proxy-Authorization`, without line breaks.
    package init(host: String, port: UInt16, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }

    /// `host:port`, without the credentials.
    package var description: String { Self.authority(host, port) }

    /// The bytes that ask for a tunnel to a server.
    func request(for host: String, port: UInt16) -> [UInt8] {
        let target = Self.authority(host, port)
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let authorization { text += "Proxy-Authorization: \(authorization)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    private static func authority(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
