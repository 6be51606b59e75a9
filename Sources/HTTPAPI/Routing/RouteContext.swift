import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Orchestrator

/// What is known of a request on its way through the middleware.
struct RouteContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Names the request in the log and in the answer's `X-Request-Id`.
    var requestID = ""
    /// The trace that the caller says it belongs to.
    var trace: TraceParent?
    /// The route that the path and the method lead to, once looked up.
    var route: Route?
    /// The caller; nil on open routes.
    var principal: Principal?
    /// Looks up the caller once more, by the same key.
    var authenticateAgain: @Sendable () async throws -> Principal? = { nil }
    /// Ends the connection at once, for a peer that does not read; nil if there is no connection.
    let hangUp: (@Sendable () -> Void)?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        let channel = source.channel
        hangUp = { channel.close(promise: nil) }
    }

    /// A context for a request that comes from no connection.
    init(logger: Logger) {
        coreContext = CoreRequestContextStorage(source: LoggerSource(logger: logger))
        hangUp = nil
    }

    private struct LoggerSource: RequestContextSource {
        let logger: Logger
    }
}
