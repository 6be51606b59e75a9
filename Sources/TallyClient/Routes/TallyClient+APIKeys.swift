package import APITypes
import ActivityModel
package import ReportTypes

extension TallyClient {
    /// Creates a key. Only this answer contains its secret.
    ///
    /// Never retried: if the answer were lost, a key would exist whose secret nobody has.
    package func createKey(_ request: APIKeyRequest) async throws(ClientError) -> APIKeyResource {
        let call = APICall(method: "POST", path: "/v1/api-keys", body: request.json, repeating: .impossible)
        return try await answer(to: call)
    }

    /// All keys, without their secrets.
    package func keys(_ page: PageRequest = PageRequest()) async throws(ClientError) -> Page<APIKeyResource> {
        try await answer(to: .get("/v1/api-keys", query: page.query))
    }

    /// The audit log, newest first.
    package func audit(
        _ filter: AuditFilter = AuditFilter(),
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<AuditEntry> {
        let query: [(name: String, value: String?)] = [
            ("bundle_id", filter.app?.rawValue), ("action", filter.action?.rawValue), ("key_id", filter.keyID),
            ("since", filter.since?.description), ("until", filter.until?.description),
        ]
        return try await answer(to: .get("/v1/audit", query: query + page.query))
    }

    /// Revokes a key permanently. `id` is the key's id, not its secret.
    package func revokeKey(_ id: String) async throws(ClientError) {
        try await perform(.delete("/v1/api-keys/\(id)"))
    }
}
