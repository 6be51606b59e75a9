extension TallyClient {
    /// Waits until the daemon is ready for work, or until the deadline.
    package func waitUntilReady() async throws(ClientError) {
        try await perform(.get("/health/ready"))
    }
}
