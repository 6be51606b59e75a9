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
        if let ticket = principal.ticket { return try check(ticket, access, context) }
        switch access {
        case .open:
            return
        case .scope(let scope):
            try check([scope], of: principal, context)
        case .anyScope(let scopes):
            try check(scopes, of: principal, context)
        case .registration:
            try check([.register], of: principal, context)
        case .unboundAdmin:
            if !principal.allows(.admin) { throw Problem.missingScope(.admin) }
            if principal.app != nil { throw Problem.appForbidden("This needs an admin key that is bound to no app.") }
        }
    }

    private static func check(_ scopes: [Scope], of principal: Principal, _ context: RouteContext) throws(Problem) {
        if let first = scopes.first, !scopes.contains(where: principal.allows) { throw .missingScope(first) }
        guard let bound = principal.app, let segment = context.parameters.get("bundle_id") else { return }
        if PercentEncoding.decode(segment) != bound.rawValue { throw .appForbidden() }
    }

    private static func check(
        _ ticket: RegistrationTicket,
        _ access: Access,
        _ context: RouteContext
    ) throws(Problem) {
        guard access == .registration else { throw .ticketForbidden() }
        func segment(_ name: String) -> String? { context.parameters.get(name).flatMap { PercentEncoding.decode($0) } }
        let activity = segment("activity_id")
        try ticket.check(
            app: segment("bundle_id").flatMap { BundleID($0) },
            device: segment("device_id").flatMap { DeviceID($0) },
            activity: activity.flatMap { ActivityID($0) }
        )
        if activity != nil, activity.flatMap({ ActivityID($0) }) == nil { throw .ticketForbidden() }
    }
}
