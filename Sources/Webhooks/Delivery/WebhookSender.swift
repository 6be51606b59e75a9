/// Posts to the addresses of webhooks. The wall between delivery and HTTP; tests put a recorder behind it.
package protocol WebhookSender: Sendable {
    /// Why Tally does not post to this URL, as a sentence; nil if it does. It looks nothing up.
    func refusal(of url: String) -> String?

    /// What keeps connections to one URL. They close when the value goes.
    func endpoint(at url: String) -> any WebhookEndpoint
}

/// One URL.
package protocol WebhookEndpoint: Sendable {
    /// Posts JSON. It returns within a deadline of its own.
    func post(_ body: [UInt8], headers: [(name: String, value: String)]) async -> WebhookAnswer
}

/// What became of a request.
package enum WebhookAnswer: Sendable, Hashable {
    /// `retryAfter`: how long the receiver asks to wait.
    case status(Int, retryAfter: Duration? = nil)
    /// No answer. The words name no address and no secret.
    case failed(String)
}
