/// The answer to a ``ConsoleRequest``.
package struct ConsoleAnswer: Sendable {
    /// What follows the head.
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Server-sent events: the streamed answer to this call of the API.
        case events(ConsoleCall)
    }

    package var status: Int
    /// Header fields in their order.
    package private(set) var fields: [(name: String, value: String)]
    package var body: Body

    init(status: Int, type: String? = nil, body: Body = .bytes([]), cache: Cache = .never) {
        self.status = status
        self.body = body
        fields = Self.guards + [("Cache-Control", cache.rawValue)]
        if let type { fields.append(("Content-Type", type)) }
    }

    /// How long a browser may keep an answer.
    enum Cache: String {
        /// Pages show what only this key may see.
        case never = "no-store"
        /// The address of an asset contains its hash.
        case forever = "public, max-age=31536000, immutable"
    }

    /// The same answer with this token in its forms.
    func giving(_ token: FormToken) -> ConsoleAnswer {
        guard case .bytes(let bytes) = body else { return self }
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
        guard parts.count > 1 else { return self }
        var answer = self
        answer.body = .bytes(Array(parts.joined(separator: Array(token.text.utf8))))
        return answer
    }

    mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

    static func page(_ html: HTML, status: Int = 200) -> ConsoleAnswer {
        ConsoleAnswer(status: status, type: "text/html; charset=utf-8", body: .bytes(Array(html.text.utf8)))
    }

    /// 303: the browser gets the next page, so that reloading it repeats no action.
    static func redirect(_ address: Address) -> ConsoleAnswer {
        var answer = ConsoleAnswer(status: 303)
        answer.add("Location", address.text)
        return answer
    }

    /// The security policy of every answer. Nothing inline runs, nothing is loaded from elsewhere, and no other page
    /// can frame the console.
    private static let guards: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        ("X-Frame-Options", "DENY"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
}
