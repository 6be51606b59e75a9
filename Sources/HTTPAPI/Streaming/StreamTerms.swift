import HTTP1Server
import Registry
import Store

/// The request's headers for a stream, and the functions that its connection provides.
struct StreamTerms: Sendable {
    /// The header `Accept`.
    var accept: String?
    /// The header `Last-Event-ID`: the last event that the reader received.
    var lastEventID: String?
    /// Looks up the caller again, because the key may have been revoked.
    var authenticateAgain: @Sendable () async throws -> Principal? = { nil }
    /// Closes the connection immediately; nil without a connection.
    var hangUp: (@Sendable () -> Void)?
    /// The request, whose body of lines the route reads; nil for a request without lines.
    var incoming: HTTPCall?
    /// The most bytes of one line.
    var longestLine = 1 << 20

    /// Whether to send server-sent events. False only if `Accept` names JSON and not `text/event-stream`.
    var wantsEventStream: Bool {
        guard let accept else { return true }
        let types = accept.split(separator: ",").map { range in
            range.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
        }
        if types.contains("text/event-stream") { return true }
        return !types.contains("application/json")
    }
}
