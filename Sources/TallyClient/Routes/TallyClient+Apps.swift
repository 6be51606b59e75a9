package import APITypes
package import ActivityModel

extension TallyClient {
    /// Registers an app or changes it.
    package func putApp(_ id: BundleID, _ request: AppRequest) async throws(ClientError) -> AppResource {
        try await answer(AppResource.self, to: .put("/v1/apps/\(id)", request))
    }

    /// One app.
    package func app(_ id: BundleID) async throws(ClientError) -> AppResource {
        try await answer(AppResource.self, to: .get("/v1/apps/\(id)"))
    }

    /// The apps that the key sees.
    package func apps(_ page: PageRequest = PageRequest()) async throws(ClientError) -> Page<AppResource> {
        try await answer(Page<AppResource>.self, to: .get("/v1/apps", query: page.query))
    }

    /// Deletes the app with all that belongs to it.
    ///
    /// That may take longer than one request may: a try that is cut off is followed by another, which goes on where
    /// that stopped, until the deadline. A server that is not there and an app that is not are found by a look before.
    package func deleteApp(_ id: BundleID, deadline: Duration = .seconds(3_600)) async throws(ClientError) {
        _ = try await app(id)
        let patient = withPatience(Self.longestRequest).withDeadline(deadline).withRetries()
        try await patient.perform(.delete("/v1/apps/\(id)", query: [("confirm", id.rawValue)]))
    }

    /// Lets sending go on that was halted because APNs rejected too many tokens. With `leavingRejected` the tokens that
    /// were rejected on the way stay so.
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
