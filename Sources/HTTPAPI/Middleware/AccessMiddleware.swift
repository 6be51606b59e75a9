import APITypes
import ActivityModel
import HTTPTypes
import Hummingbird
import Orchestrator

/// Checks what the route demands of the caller, before anything is looked up, so that a key learns nothing of other apps.
///
/// A path that leads nowhere is answered here: 405 where another method would do, else 404.
struct AccessMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    let table: RouteTable

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        guard let route = context.route else {
            let methods = table.methods(forRequestPath: request.uri.path)
            if methods.isEmpty { throw Problem.notFound("the path") }
            throw Refusal(problem: .methodNotAllowed(), headers: [.allow: methods.joined(separator: ", ")])
        }
        try Self.check(route.access, context)
        return try await next(request, context)
    }

    private static func check(_ access: Access, _ context: RouteContext) throws(Problem) {
        if access == .open { return }
        guard let principal = context.principal else { throw Problem.unauthorized() }
        switch access {
        case .open:
            return
        case .scope(let scope):
            if !principal.allows(scope) { throw Problem.missingScope(scope) }
            guard let bound = principal.app, let segment = context.parameters.get("bundle_id") else { return }
            if PercentEncoding.decode(segment) != bound.rawValue { throw Problem.appForbidden() }
        case .unboundAdmin:
            if !principal.allows(.admin) { throw Problem.missingScope(.admin) }
            if principal.app != nil { throw Problem.appForbidden("This needs an admin key that is bound to no app.") }
        }
    }
}
