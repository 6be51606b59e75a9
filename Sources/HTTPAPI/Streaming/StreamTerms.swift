import Orchestrator

/// What a request says of an answer that goes on and on, and what its connection lets one do.
struct StreamTerms: Sendable {
    /// The header `Accept`.
    var accept: String?
    /// The header `Last-Event-ID`: what a reader has read already.
    var lastEventID: String?
    /// Looks up the caller once more: a key may be revoked meanwhile.
    var authenticateAgain: @Sendable () async throws -> Principal? = { nil }
    /// Ends the connection at once; nil if there is none.
    var hangUp: (@Sendable () -> Void)?

    /// Whether the caller takes server-sent events: unless it asks for JSON and for nothing else that would do.
    var wantsEventStream: Bool {
        guard let accept else { return true }
        let types = accept.split(separator: ",").map { range in
            range.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        }
        if types.contains("text/event-stream") { return true }
        return !types.contains("application/json")
    }
}
