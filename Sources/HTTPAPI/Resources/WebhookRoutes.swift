import APITypes
import ActivityModel
import HTTPTypes

extension Route {
    /// `…/webhooks`. They need `admin`, because a URL may hold a secret, and because events leave the installation.
    static func webhooks(_ room: any WebhookService) -> [Route] {
        [
            Route(.put, "/v1/apps/{bundle_id}/webhooks/{webhook_id}", .scope(.admin), body: true) { call in
                .ok(try await room.put(call.app(), call.webhook(), call.request()))
            },
            Route(.get, "/v1/apps/{bundle_id}/webhooks", .scope(.admin), query: paging) { call in
                .ok(try await room.list(call.app(), call.page()))
            },
            Route(.get, "/v1/apps/{bundle_id}/webhooks/{webhook_id}", .scope(.admin)) { call in
                .ok(try await room.webhook(call.app(), call.webhook()))
            },
            Route(.delete, "/v1/apps/{bundle_id}/webhooks/{webhook_id}", .scope(.admin)) { call in
                try await room.delete(call.app(), call.webhook())
                return .noContent
            },
            Route(.post, "/v1/apps/{bundle_id}/webhooks/{webhook_id}/replay", .scope(.admin), body: true) { call in
                .ok(try await room.replay(call.app(), call.webhook(), call.request()))
            },
        ]
    }
}

extension RouteCall {
    fileprivate func webhook() throws(Problem) -> WebhookID { try segment("webhook_id", .webhookID) }
}
