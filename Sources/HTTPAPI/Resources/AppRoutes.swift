import APITypes
import ActivityModel
import HTTPTypes
import Registry

extension Route {
    /// `/v1/apps`. Only an unbound admin key creates or deletes apps. A bound key reads its own app.
    static func apps(_ service: any TallyService) -> [Route] {
        let registry = service.registry
        return [
            Route(.put, "/v1/apps/{bundle_id}", .unboundAdmin, body: true) { call in
                .ok(try await registry.putApp(call.app(), call.request(AppRequest.self)))
            },
            Route(.patch, "/v1/apps/{bundle_id}", .unboundAdmin, body: true) { call in
                .ok(try await registry.patchApp(call.app(), call.request(AppPatch.self)))
            },
            Route(.get, "/v1/apps", .scope(.read), query: paging) { call in
                .ok(try await registry.apps(call.page(), only: call.principal?.app))
            },
            Route(.get, "/v1/apps/{bundle_id}", .scope(.read)) { call in
                .ok(try await registry.app(call.app()))
            },
            Route(.delete, "/v1/apps/{bundle_id}", .unboundAdmin, query: ["confirm"]) { call in
                let app = try call.app()
                // Prevents a mistake: a client that normalizes the path of a smaller deletion, such as user `..`, sends
                // no `confirm`.
                guard try call.parameter("confirm", .bundleID) == app else {
                    throw Problem.invalidRequest(
                        "To delete the app with all that belongs to it, add '?confirm=\(app.rawValue)'."
                    )
                }
                try await service.deleteApp(app)
                return .noContent
            },
            Route(.get, "/v1/apps/{bundle_id}/halts", .scope(.read), query: paging) { call in
                .ok(try await service.deliveryStore.halts(of: call.app(), call.page()))
            },
            Route(
                .delete,
                "/v1/apps/{bundle_id}/halts/{environment}",
                .scope(.operate),
                query: ["leave_rejected"]
            ) { call in
                try await service.deliveryStore.liftHalt(
                    call.app(),
                    call.segment("environment", oneOf: APNSEnvironment.self),
                    reviving: !call.flag("leave_rejected")
                )
                return .noContent
            },
        ]
    }
}
