internal import Cryptography
internal import HTTP2Engine

/// An HTTP proxy on the way to APNs. TLS goes through it from end to end.
package struct APNSProxy: Sendable, Hashable, CustomStringConvertible {
    let proxy: HTTPProxy

    /// Parses `http://[user:password@]host:port[/]`. `name` is the setting for error messages.
    ///
    /// - Throws: ``APNSTransportError/Code/invalidEndpoint`` for anything else. The message has no part of the URL.
    package init(url text: String, name: String) throws(APNSTransportError) {
        func refusal(_ reason: String) -> APNSTransportError {
            APNSTransportError(.invalidEndpoint, "\(name): \(reason)")
        }
        let scheme = "http://"
        guard text.lowercased().hasPrefix(scheme) else { throw refusal("the URL must begin with http://") }
        var rest = text.dropFirst(scheme.count)
        var authorization: String?
        if let at = rest.lastIndex(of: "@") {
            let credentials = rest[..<at]
            guard credentials.contains(":"), let bytes = Self.decoded(credentials) else {
                throw refusal("the credentials must be user:password, with special characters in the form %40")
            }
            authorization = "Basic " + Base64.encode(bytes)
            rest = rest[rest.index(after: at)...]
        }
        let address = try APNSEndpoint(authority: rest, defaultPort: nil, refusal: refusal)
        proxy = HTTPProxy(host: address.host, port: address.port, authorization: authorization)
    }

    /// The bytes of percent-encoded text; nil if it has a `%` without two hex digits.
    private static func decoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2 else {
                return nil
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// `host:port`, without the credentials.
    package var description: String { proxy.description }
}
