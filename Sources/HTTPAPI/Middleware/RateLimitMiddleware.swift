import Hummingbird
import Orchestrator

/// Refuses a caller that asks more often than its key may. Behind authentication, before anything is looked up.
struct RateLimitMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    /// Nil: every key may ask as often as it likes.
    let limiter: RateLimiter?

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        if let limiter, let principal = context.principal { try limiter.admit(keyID: principal.keyID) }
        return try await next(request, context)
    }
}
