import APITypes
import ActivityModel
import HTTPTypes

extension Route {
    /// `…/channels`.
    static func channels(_ service: any TallyService) -> [Route] {
        let channels = service.channelRoom
        return [
            Route(.post, "/v1/apps/{bundle_id}/channels", .scope(.operate), body: true) { call in
                let app = try call.app()
                let key = try call.idempotencyKey()
                let request = try call.request(ChannelRequest.self)
                return .created(try await service.createChannel(app, request, idempotency: key))
            },
            Route(.post, "/v1/apps/{bundle_id}/channels/reconcile", .scope(.operate), body: true) { call in
                let app = try call.app()
                let key = try call.idempotencyKey()
                let request = try call.request(ReconcileRequest.self)
                return .ok(try await service.reconcileChannels(app, request, idempotency: key))
            },
            Route(.get, "/v1/apps/{bundle_id}/channels", .scope(.read), query: paging) { call in
                .ok(try await channels.list(call.app(), call.page()))
            },
            Route(.get, "/v1/apps/{bundle_id}/channels/{channel_id}", .scope(.read)) { call in
                .ok(try await channels.channel(call.app(), call.segment("channel_id", .channelID)))
            },
            Route(.delete, "/v1/apps/{bundle_id}/channels/{channel_id}", .scope(.operate)) { call in
                try await channels.delete(call.app(), call.segment("channel_id", .channelID))
                return .noContent
            },
        ]
    }
}
