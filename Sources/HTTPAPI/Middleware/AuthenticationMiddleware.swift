import APITypes
import HTTPTypes
import Hummingbird
import Orchestrator

/// Finds out who calls. Open routes pass; everything else needs a key, also paths that do not exist.
struct AuthenticationMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    let authenticate: @Sendable (String) async throws -> Principal?

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        if case .open = context.route?.access { return try await next(request, context) }
        guard let header = request.headers[.authorization] else {
            throw Self.refusal(challenge: "Bearer realm=\"tally\"")
        }
        guard let secret = Self.bearer(header), let principal = try await authenticate(secret) else {
            throw Self.refusal(challenge: "Bearer realm=\"tally\", error=\"invalid_token\"")
        }
        var context = context
        context.principal = principal
        context.authenticateAgain = { try await authenticate(secret) }
        return try await next(request, context)
    }

    /// The token of `Bearer <token>` (RFC 6750 §2.1); the scheme's case does not matter.
    private static func bearer(_ header: String) -> String? {
        let parts = header.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    private static func refusal(challenge: String) -> Refusal {
        Refusal(problem: .unauthorized(), headers: [.wwwAuthenticate: challenge])
    }
}
