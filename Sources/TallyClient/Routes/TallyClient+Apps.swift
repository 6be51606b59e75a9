package import APITypes
package import ActivityModel

extension TallyClient {
    /// Creates or changes an app.
    package func putApp(_ id: BundleID, _ request: AppRequest) async throws(ClientError) -> AppResource {
        try await answer(to: .put("/v1/apps/\(id)", request))
    }

    /// Changes only the settings that the patch names.
    package func patchApp(_ id: BundleID, _ patch: AppPatch) async throws(ClientError) -> AppResource {
        try await answer(to: .patch("/v1/apps/\(id)", patch))
    }

    package func app(_ id: BundleID) async throws(ClientError) -> AppResource {
        try await answer(to: .get("/v1/apps/\(id)"))
    }

    /// The apps that the key can access.
    package func apps(_ page: PageRequest = PageRequest()) async throws(ClientError) -> Page<AppResource> {
        try await answer(to: .get("/v1/apps", query: page.query))
    }

    /// Deletes the app with everything that belongs to it.
    ///
    /// The deletion may take longer than one request. A try that times out is followed by another, which continues the
    /// deletion, until the deadline. The call first reads the app, and fails immediately if the server or the app does
    /// not exist.
    package func deleteApp(_ id: BundleID, deadline: Duration = .seconds(3_600)) async throws(ClientError) {
        _ = try await app(id)
        let patient = withPatience(Self.longestRequest).withDeadline(deadline).withRetries()
        try await patient.perform(.delete("/v1/apps/\(id)", query: [("confirm", id.rawValue)]))
    }

    /// The environments of an app for which sending is halted.
    package func halts(
        of app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<HaltResource> {
        try await answer(to: .get("/v1/apps/\(app)/halts", query: page.query))
    }

    /// Resumes sending that was halted because APNs rejected too many tokens. With `leavingRejected`, the tokens
    /// rejected meanwhile stay rejected.
    package func liftHalt(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        leavingRejected: Bool = false
    ) async throws(ClientError) {
        try await perform(
            .delete(
                "/v1/apps/\(app)/halts/\(environment.rawValue)",
                query: [("leave_rejected", leavingRejected ? "true" : nil)]
            )
        )
    }
}

extension PageRequest {
    /// The query parameters of a list.
    var query: [(name: String, value: String?)] {
        [("limit", String(limit)), ("cursor", cursor)]
    }
}
