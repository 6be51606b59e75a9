package import APITypes
package import ActivityModel

extension TallyClient {
    /// Makes or changes a webhook. The answer contains the secret if Tally made it.
    ///
    /// Never retried: if the answer were lost, nobody would have the secret.
    package func putWebhook(
        _ app: BundleID,
        _ id: WebhookID,
        _ request: WebhookRequest
    ) async throws(ClientError) -> WebhookResource {
        let path: APIPath = "/v1/apps/\(app)/webhooks/\(id)"
        let call = APICall(method: "PUT", path: path.text, body: request.json, repeating: .impossible)
        return try await answer(to: call)
    }

    /// The webhooks of an app.
    package func webhooks(
        _ app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<WebhookResource> {
        try await answer(to: .get("/v1/apps/\(app)/webhooks", query: page.query))
    }

    /// One webhook.
    package func webhook(_ app: BundleID, _ id: WebhookID) async throws(ClientError) -> WebhookResource {
        try await answer(to: .get("/v1/apps/\(app)/webhooks/\(id)"))
    }

    /// Deletes a webhook.
    package func deleteWebhook(_ app: BundleID, _ id: WebhookID) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/webhooks/\(id)"))
    }

    /// Delivers events again from a time on.
    package func replayWebhook(
        _ app: BundleID,
        _ id: WebhookID,
        since: Instant
    ) async throws(ClientError) -> WebhookResource {
        let request = WebhookReplayRequest(since: since)
        return try await answer(to: .post("/v1/apps/\(app)/webhooks/\(id)/replay", harmless: request))
    }
}
