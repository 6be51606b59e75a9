internal import APITypes
internal import ActivityModel

extension TallyBackend {
    /// Says what a user follows from now on. All devices of the user follow it, now and later.
    ///
    /// Running activities whose audience names one of the topics are started. The API key needs the scope `register`.
    ///
    /// - Throws: ``TallyError``.
    public func setTopics(ofUser user: String, to topics: [String]) async throws(TallyError) {
        try await putTopics(user, .whole(try Self.topics(topics)))
    }

    /// Changes what a user follows, as ``setTopics(ofUser:to:)``. A topic in both lists is added.
    ///
    /// - Throws: ``TallyError``.
    public func changeTopics(
        ofUser user: String,
        adding: [String] = [],
        removing: [String] = []
    ) async throws(TallyError) {
        let request = TopicsRequest.change(add: try Self.topics(adding), remove: try Self.topics(removing))
        try await putTopics(user, request)
    }

    private func putTopics(_ user: String, _ request: TopicsRequest) async throws(TallyError) {
        let id = try Self.userID(user)
        _ = try await call { client throws(ClientError) in try await client.putTopics(app, of: .user(id), request) }
    }

    private static func topics(_ names: [String]) throws(TallyError) -> [Topic] {
        var topics: [Topic] = []
        for name in names { topics.append(try topic(name)) }
        return topics
    }
}
