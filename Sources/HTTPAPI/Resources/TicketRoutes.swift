import APITypes
import ActivityModel
import HTTPTypes
import Registry

extension Route {
    /// `…/registration-tickets`, and the keys with which backends sign tickets themselves. `Idempotency-Key` has no effect here, because neither a ticket nor a
    /// secret is stored, so they cannot be repeated.
    static func tickets(_ registry: any RegistryService) -> [Route] {
        [
            Route(.post, "/v1/apps/{bundle_id}/registration-tickets", .scope(.register), body: true) { call in
                let app = try call.app()
                return .created(try await registry.createTicket(app, call.request(RegistrationTicketRequest.self)))
            },
            Route(.post, "/v1/apps/{bundle_id}/registration-tickets/batch", .scope(.register), body: true) { call in
                let app = try call.app()
                return .created(try await registry.createTickets(app, call.request(TicketBatchRequest.self)))
            },
            Route(.post, "/v1/apps/{bundle_id}/ticket-keys", .scope(.admin), body: true) { call in
                let app = try call.app()
                return .created(try await registry.createTicketKey(app, call.request(TicketKeyRequest.self)))
            },
            Route(.get, "/v1/apps/{bundle_id}/ticket-keys", .scope(.admin), query: paging) { call in
                .ok(try await registry.ticketKeys(call.app(), call.page()))
            },
            Route(
                .delete,
                "/v1/apps/{bundle_id}/ticket-keys/{ticket_key_id}",
                .scope(.admin),
                query: ["after_seconds"]
            ) { call in
                let longest = Int(TicketKeyRequest.maximumTicketSeconds)
                let after = try call.parameter("after_seconds", .digits.within(0...longest)) ?? 0
                try await registry.revokeTicketKey(call.app(), call.uuid("ticket_key_id"), afterSeconds: after)
                return .noContent
            },
            Route(.put, "/v1/apps/{bundle_id}/users/{user_id}/tickets", .scope(.register), body: true) { call in
                let user = UserOrDevice.user(try call.segment("user_id", .userID))
                return .ok(try await registry.revokeTickets(call.app(), of: user, call.request()))
            },
            Route(.put, "/v1/apps/{bundle_id}/devices/{device_id}/tickets", .scope(.register), body: true) { call in
                let device = UserOrDevice.device(try call.device())
                return .ok(try await registry.revokeTickets(call.app(), of: device, call.request()))
            },
        ]
    }
}
