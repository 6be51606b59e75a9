extension TallyClient {
    /// Returns when the daemon is ready for work, trying until the deadline.
    package func waitUntilReady() async throws(ClientError) {
        try await perform(.get("/health/ready"))
    }
}
