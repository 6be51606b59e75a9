import APITypes
import Cryptography

/// The secret of a webhook, with which Tally signs (Standard Webhooks): `whsec_` and base64 of 24 to 64 bytes.
struct WebhookSecret: Sendable, CustomReflectable {
    let bytes: [UInt8]

    static let prefix = "whsec_"

    /// Reads ``text``; nil for any other text.
    init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(String(text.dropFirst(Self.prefix.count))),
            (24...64).contains(bytes.count)
        else { return nil }
        self.bytes = bytes
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func generate() -> WebhookSecret { WebhookSecret(bytes: SecureRandom.bytes(32)) }

    var text: String { Self.prefix + Base64.encode(bytes) }

    /// The headers of one request: id, time and signature. A receiver signs `id.timestamp.body` as well and compares.
    func headers(id: String, unixSeconds: Int64, body: [UInt8]) -> [(name: String, value: String)] {
        let signature = HMACSHA256.authenticationCode(for: Array("\(id).\(unixSeconds).".utf8) + body, key: bytes)
        return [
            ("webhook-id", id), ("webhook-timestamp", String(unixSeconds)),
            ("webhook-signature", "v1," + Base64.encode(signature)),
        ]
    }

    /// Shows nothing, because a secret must not reach a log.
    var customMirror: Mirror { Mirror(self, children: []) }
}
