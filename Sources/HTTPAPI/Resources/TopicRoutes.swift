import APITypes
import ActivityModel
import HTTPTypes
import Registry

extension Route {
    private static let app = "/v1/apps/{bundle_id}"

    /// `…/topics`: what users and devices follow.
    static func topics(_ service: any TallyService) -> [Route] {
        let registry = service.registry
        return [
            Route(.get, app + "/topics", .scope(.read), query: paging) { call in
                .ok(try await registry.topics(call.app(), call.page()))
            },
            Route(.get, app + "/users/{user_id}/topics", .scope(.read)) { call in
                .ok(try await registry.topics(call.app(), of: .user(call.segment("user_id", .userID))))
            },
            Route(.put, app + "/users/{user_id}/topics", .scope(.register), body: true) { call in
                let user = try call.segment("user_id", .userID)
                return .ok(try await service.putTopics(call.app(), of: .user(user), call.request()))
            },
            Route(.get, app + "/devices/{device_id}/topics", .scope(.read)) { call in
                .ok(try await registry.topics(call.app(), of: .device(call.device())))
            },
            Route(.put, app + "/devices/{device_id}/topics", .scope(.register), body: true) { call in
                let device = try call.device()
                return .ok(try await service.putTopics(call.app(), of: .device(device), call.request()))
            },
        ]
    }
}
