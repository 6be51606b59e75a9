package import APITypes
package import ActivityModel

extension TallyClient {
    /// Creates a channel at Apple for the pool.
    package func createChannel(
        _ app: BundleID,
        _ request: ChannelRequest
    ) async throws(ClientError) -> ChannelResource {
        try await answer(to: .post("/v1/apps/\(app)/channels", request, key: nil))
    }

    /// One channel, by Tally's id.
    package func channel(_ app: BundleID, _ id: ChannelID) async throws(ClientError) -> ChannelResource {
        try await answer(to: .get("/v1/apps/\(app)/channels/\(id)"))
    }

    package func channels(
        _ app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<ChannelResource> {
        try await answer(to: .get("/v1/apps/\(app)/channels", query: page.query))
    }

    /// Compares an app's channels with Apple's list and repairs the differences, or only reports them.
    package func reconcileChannels(
        _ app: BundleID,
        _ request: ReconcileRequest
    ) async throws(ClientError) -> ChannelReport {
        // Tally may have to ask Apple about many channels, one after the other.
        try await withPatience(Self.longestRequest)
            .answer(ChannelReport.self, to: .post("/v1/apps/\(app)/channels/reconcile", harmless: request))
    }

    /// Deletes a channel at Apple.
    package func deleteChannel(_ app: BundleID, _ id: ChannelID) async throws(ClientError) {
        try await perform(.delete("/v1/apps/\(app)/channels/\(id)"))
    }
}
