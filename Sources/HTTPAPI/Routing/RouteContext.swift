import HTTPTypes
import Hummingbird
import Logging
import Orchestrator

/// What is known of a request on its way through the middleware.
struct RouteContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Names the request in the log and in the answer's `X-Request-Id`.
    var requestID = ""
    /// The route that the path and the method lead to, once looked up.
    var route: Route?
    /// The caller; nil on open routes.
    var principal: Principal?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// A context for a request that comes from no connection.
    init(logger: Logger) {
        coreContext = CoreRequestContextStorage(source: LoggerSource(logger: logger))
    }

    private struct LoggerSource: RequestContextSource {
        let logger: Logger
    }
}
