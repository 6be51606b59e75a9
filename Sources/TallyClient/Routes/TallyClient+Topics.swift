package import APITypes
package import ActivityModel

extension TallyClient {
    /// The topics of an app, with the number of their followers.
    package func topics(
        _ app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<TopicResource> {
        try await answer(Page<TopicResource>.self, to: .get("/v1/apps/\(app)/topics", query: page.query))
    }

    /// What a user follows.
    package func topics(_ app: BundleID, of user: UserID) async throws(ClientError) -> FollowedTopics {
        try await answer(FollowedTopics.self, to: .get("/v1/apps/\(app)/users/\(user)/topics"))
    }

    /// The topics of a device, without those of its user.
    package func topics(_ app: BundleID, of device: DeviceID) async throws(ClientError) -> FollowedTopics {
        try await answer(FollowedTopics.self, to: .get("/v1/apps/\(app)/devices/\(device)/topics"))
    }

    /// Changes what a user follows.
    package func putTopics(
        _ app: BundleID,
        of user: UserID,
        _ request: TopicsRequest
    ) async throws(ClientError) -> FollowedTopics {
        try await answer(FollowedTopics.self, to: .put("/v1/apps/\(app)/users/\(user)/topics", request))
    }

    /// Changes the topics of a device, not those of its user.
    package func putTopics(
        _ app: BundleID,
        of device: DeviceID,
        _ request: TopicsRequest
    ) async throws(ClientError) -> FollowedTopics {
        try await answer(FollowedTopics.self, to: .put("/v1/apps/\(app)/devices/\(device)/topics", request))
    }
}
