import APITypes
import ActivityModel
import Registry

extension Access {
    /// Checks that the caller may use the route. It runs before any look-up, so that a key learns nothing about other
    /// apps.
    ///
    /// - Throws: 401 or 403.
    func check(_ principal: Principal?, _ segments: PathSegments) throws(Problem) {
        if self == .open { return }
        guard let principal else { throw Problem.unauthorized() }
        if let ticket = principal.ticket { return try check(ticket, segments) }
        switch self {
        case .open:
            return
        case .scope(let scope):
            try Self.check([scope], of: principal, segments)
        case .anyScope(let scopes):
            try Self.check(scopes, of: principal, segments)
        case .registration:
            try Self.check([.register], of: principal, segments)
        case .ticket:
            throw Problem.unauthorized("A registration ticket is needed: 'Authorization: Bearer <ticket>'.")
        case .unboundAdmin:
            if !principal.allows(.admin) { throw Problem.missingScope(.admin) }
            if principal.app != nil { throw Problem.appForbidden("This needs an admin key that is bound to no app.") }
        }
    }

    private static func check(
        _ scopes: [Scope],
        of principal: Principal,
        _ segments: PathSegments
    ) throws(Problem) {
        if let first = scopes.first, !scopes.contains(where: principal.allows) { throw .missingScope(first) }
        guard let bound = principal.app, segments.contains("bundle_id") else { return }
        if segments["bundle_id"] != bound.rawValue { throw .appForbidden() }
    }

    private func check(_ ticket: TicketGrant, _ segments: PathSegments) throws(Problem) {
        guard self == .registration || self == .ticket else { throw .ticketForbidden() }
        let activity = segments["activity_id"].flatMap { ActivityID($0) }
        try ticket.check(
            app: segments["bundle_id"].flatMap { BundleID($0) },
            device: segments["device_id"].flatMap { DeviceID($0) },
            activity: activity
        )
        if segments["activity_id"] != nil, activity == nil { throw .ticketForbidden() }
    }
}
