import APITypes
import ActivityModel
import HTTPTypes

extension Route {
    /// `…/types`: the schemas of attributes and content, and their policy.
    static func types(_ registry: any RegistryService) -> [Route] {
        [
            Route(.put, "/v1/apps/{bundle_id}/types/{type}", .scope(.operate), query: ["force"], body: true) { call in
                let app = try call.app()
                let name = try call.type()
                let force = try call.flag("force")
                return .ok(try await registry.putType(app, name, call.request(TypeRequest.self), force: force))
            },
            Route(.patch, "/v1/apps/{bundle_id}/types/{type}", .scope(.operate), body: true) { call in
                .ok(try await registry.patchType(call.app(), call.type(), call.request(TypePatch.self)))
            },
            Route(.get, "/v1/apps/{bundle_id}/types", .scope(.read), query: paging) { call in
                .ok(try await registry.types(call.app(), call.page()))
            },
            Route(.get, "/v1/apps/{bundle_id}/types/{type}", .scope(.read)) { call in
                .ok(try await registry.type(call.app(), call.type()))
            },
            Route(.get, "/v1/apps/{bundle_id}/types/{type}/versions", .scope(.read), query: paging) { call in
                .ok(try await registry.typeVersions(call.app(), call.type(), call.page()))
            },
            Route(.put, "/v1/apps/{bundle_id}/types/{type}/versions/{version}", .scope(.operate), body: true) { call in
                let app = try call.app()
                let name = try call.type()
                let version = try call.segment("version", .digits)
                return .ok(
                    try await registry.putTypeVersion(app, name, version, call.request(TypeVersionRequest.self))
                )
            },
            Route(.post, "/v1/apps/{bundle_id}/types/{type}/validate", .scope(.read), body: true) { call in
                let app = try call.app()
                let name = try call.type()
                return .ok(try await registry.validate(app, name, call.request(ValidationRequest.self)))
            },
        ]
    }
}

extension RouteCall {
    /// The activity type in the path.
    fileprivate func type() throws(Problem) -> ActivityTypeName { try segment("type", .typeName) }
}
