package import APITypes
package import ActivityModel
package import ReportTypes

extension TallyClient {
    /// Reports an installation and its start tokens.
    package func putDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest
    ) async throws(ClientError) -> DeviceResource {
        try await answer(to: .put("/v1/apps/\(app)/devices/\(id)", request))
    }

    /// One device; its tokens are masked.
    package func device(_ app: BundleID, _ id: DeviceID) async throws(ClientError) -> DeviceResource {
        try await answer(to: .get("/v1/apps/\(app)/devices/\(id)"))
    }

    /// The devices of an app, optionally those of one user, or with a token of any kind. Two bytes find the tokens that
    /// begin with them.
    package func devices(
        _ app: BundleID,
        user: UserID? = nil,
        token: PushToken? = nil,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<DeviceResource> {
        let filter: [(name: String, value: String?)] = [("user_id", user?.rawValue), ("token", token?.hex)]
        return try await answer(to: .get("/v1/apps/\(app)/devices", query: filter + page.query))
    }

    /// Sends an ordinary push. For the key, see ``update(_:_:_:idempotencyKey:)``.
    package func push(
        _ app: BundleID,
        _ request: PushRequest,
        idempotencyKey: String? = nil
    ) async throws(ClientError) -> PushAnswer {
        try await answer(to: .post("/v1/apps/\(app)/pushes", request, key: idempotencyKey))
    }

    /// Deletes a device with its tokens and subscriptions.
    package func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/devices/\(id)"))
    }

    /// The devices, cards and activities of a user.
    package func user(_ app: BundleID, _ id: UserID) async throws(ClientError) -> UserResource {
        try await answer(to: .get("/v1/apps/\(app)/users/\(id)"))
    }

    /// All that is stored of a user.
    package func exportUser(_ app: BundleID, _ id: UserID) async throws(ClientError) -> UserExport {
        let path: APIPath = "/v1/apps/\(app)/users/\(id)/export"
        var whole = try await answer(UserExport.self, to: .get(path))
        while let cursor = whole.nextCursor {
            whole.append(try await answer(UserExport.self, to: .get(path, query: [("cursor", cursor)])))
        }
        return whole
    }

    /// Erases a user's devices, tokens and subscriptions.
    package func deleteUser(_ app: BundleID, _ id: UserID) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/users/\(id)"))
    }
}
