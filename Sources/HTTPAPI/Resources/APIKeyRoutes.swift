import APITypes
import HTTPTypes
import Registry

extension Route {
    /// `/v1/api-keys`, for admins. An admin key that is bound to an app lists, creates and revokes only keys of that
    /// app.
    static func apiKeys(_ registry: any RegistryService) -> [Route] {
        [
            Route(.post, "/v1/api-keys", .scope(.admin), body: true) { call in
                let request = try call.request(APIKeyRequest.self)
                if let bound = call.principal?.app, request.bundleID != bound {
                    throw Problem.appForbidden("A bound admin key makes keys for its own app only: set 'bundle_id'.")
                }
                return .created(try await registry.createAPIKey(request))
            },
            Route(.get, "/v1/api-keys", .scope(.admin), query: paging) { call in
                .ok(try await registry.apiKeys(call.page(), only: call.principal?.app))
            },
            Route(.delete, "/v1/api-keys/{api_key_id}", .scope(.admin)) { call in
                try await registry.revokeAPIKey(call.uuid("api_key_id"), only: call.principal?.app)
                return .noContent
            },
        ]
    }
}
