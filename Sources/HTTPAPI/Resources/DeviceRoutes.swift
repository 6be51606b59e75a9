import APITypes
import ActivityModel
import HTTPTypes
import Registry

extension Route {
    /// `…/devices`, and what is known of a user.
    static func devices(_ service: any TallyService) -> [Route] {
        let (registry, intake) = (service.registry, service.intake)
        return [
            Route(.put, "/v1/apps/{bundle_id}/devices/{device_id}", .registration, body: true) { call in
                let app = try call.app()
                let device = try call.device()
                let request = try call.request(DeviceRequest.self)
                guard let ticket = call.principal?.ticket else {
                    return .ok(try await intake.putDevice(app, device, request))
                }
                let stale = try await intake.registerDevice(app, device, ticket.admit(request), by: ticket)
                return .ok(
                    RegistrationReceipt(deviceID: device, stale: stale, receiptSampling: intake.receiptSampling)
                )
            },
            Route(.post, "/v1/apps/{bundle_id}/devices/{device_id}/receipts", .registration, body: true) { call in
                let app = try call.app()
                let device = try call.device()
                let request = try call.request(ReceiptsRequest.self)
                let allowed = call.principal?.ticket?.activities
                let receipts = request.receipts.filter { allowed?.contains($0.activityID) ?? true }
                try await intake.takeReceipts(app, device, receipts)
                return .ok(ReceiptsAnswer(deviceID: device, receiptSampling: intake.receiptSampling))
            },
            Route(
                .get,
                "/v1/apps/{bundle_id}/devices",
                .scope(.read),
                query: paging.union(["user_id", "token"])
            ) { call in
                let user = try call.parameter("user_id", .userID)
                let token = try call.parameter("token", .token)
                return .ok(try await registry.devices(call.app(), user: user, token: token, call.page()))
            },
            Route(.get, "/v1/apps/{bundle_id}/devices/{device_id}", .scope(.read)) { call in
                .ok(try await registry.device(call.app(), call.device()))
            },
            Route(.delete, "/v1/apps/{bundle_id}/devices/{device_id}", .scope(.register)) { call in
                try await registry.deleteDevice(call.app(), call.device())
                return .noContent
            },
            Route(.get, "/v1/apps/{bundle_id}/users/{user_id}", .scope(.read)) { call in
                .ok(try await service.user(call.app(), call.segment("user_id", .userID)))
            },
            Route(.get, "/v1/apps/{bundle_id}/users/{user_id}/export", .scope(.read), query: ["cursor"]) { call in
                let cursor = try call.page().cursor
                return .ok(try await service.exportUser(call.app(), call.segment("user_id", .userID), cursor: cursor))
            },
            Route(.delete, "/v1/apps/{bundle_id}/users/{user_id}", .scope(.register)) { call in
                try await intake.eraseUser(call.app(), call.segment("user_id", .userID))
                return .noContent
            },
        ]
    }
}

extension RouteCall {
    func device() throws(Problem) -> DeviceID { try segment("device_id", .deviceID) }
}
