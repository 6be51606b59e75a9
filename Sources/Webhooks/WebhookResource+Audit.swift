import APITypes
import Cryptography
import JSON

extension WebhookResource {
    /// What the audit log keeps. Path and query of the URL may hold a secret, and more people may read the log than
    /// webhooks. The hash shows whether the URL has changed.
    var recorded: JSONValue {
        var shown = self
        let hash = SHA256.hash(url).prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        shown.url = "\(Self.origin(of: url) ?? "")… (sha256 \(hash))"
        return shown.json
    }

    /// Scheme and host with a slash, as `https://hooks.example.com/`; nil for a URL of another form.
    private static func origin(of url: String) -> String? {
        let start = ["https://", "http://"].first { url.lowercased().hasPrefix($0) }
        guard let start else { return nil }
        let authority = url.dropFirst(start.count).prefix { !"/?#\\".contains($0) }
        let server = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        // The colons of an IPv6 address are between brackets.
        if server.hasPrefix("[") { return "\(start)\(server.prefix { $0 != "]" })]/" }
        return "\(start)\(server.prefix { $0 != ":" })/"
    }
}
