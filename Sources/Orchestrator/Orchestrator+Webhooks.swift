package import APITypes
package import ActivityModel
import Webhooks

// The services of the room below that the API needs.
extension Orchestrator {
    /// See ``Webhooks/put(_:_:_:)``.
    package func putWebhook(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookRequest
    ) async throws -> WebhookResource {
        try await webhookRoom.put(app, id, request)
    }

    /// See ``Webhooks/list(_:_:)``.
    package func webhooks(_ app: BundleID, _ page: PageRequest) async throws -> Page<WebhookResource> {
        try await webhookRoom.list(app, page)
    }

    /// See ``Webhooks/webhook(_:_:)``.
    package func webhook(_ app: BundleID, _ id: WebhookID) async throws -> WebhookResource {
        try await webhookRoom.webhook(app, id)
    }

    /// See ``Webhooks/delete(_:_:)``.
    package func deleteWebhook(_ app: BundleID, _ id: WebhookID) async throws {
        try await webhookRoom.delete(app, id)
    }

    /// See ``Webhooks/replay(_:_:_:)``.
    package func replayWebhook(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookReplayRequest
    ) async throws -> WebhookResource {
        try await webhookRoom.replay(app, id, request)
    }
}
