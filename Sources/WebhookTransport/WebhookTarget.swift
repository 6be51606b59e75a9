import Foundation
import Reactor
import TallyClient

/// A webhook's URL, taken apart.
struct WebhookTarget: Sendable {
    let server: ServerAddress
    let host: String
    let isSecure: Bool
    /// Path and query, percent-encoded.
    let target: String

    /// Why a URL cannot be that of a webhook.
    struct Refusal: Error {
        let message: String
    }

    init(_ text: String) throws(Refusal) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = url.host, Self.isHost(host)
        else { throw Refusal(message: "A URL such as 'https://hooks.example.com/tally' is expected.") }
        guard url.user == nil, url.password == nil else {
            throw Refusal(message: "The URL must contain no user and no password.")
        }
        guard url.fragment == nil else { throw Refusal(message: "The URL must contain no fragment.") }
        let port = url.port ?? (scheme == "https" ? 443 : 80)
        guard (1...65_535).contains(port) else { throw Refusal(message: "The port must be from 1 to 65535.") }
        isSecure = scheme == "https"
        self.host = host
        server = ServerAddress(isSecure: isSecure, host: host, port: port)
        let path = url.path(percentEncoded: true)
        target = (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?" + $0 } ?? "")
    }

    /// A name or a numeric address. It goes into the header `Host` as it is.
    private static func isHost(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }
}
