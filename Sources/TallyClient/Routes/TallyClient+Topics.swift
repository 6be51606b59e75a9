package import APITypes
package import ActivityModel

extension TallyClient {
    /// The topics of an app, with the number of their followers.
    package func topics(
        _ app: BundleID,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<TopicResource> {
        try await answer(to: .get("/v1/apps/\(app)/topics", query: page.query))
    }

    /// What a user follows, or a device without its user.
    package func topics(_ app: BundleID, of follower: UserOrDevice) async throws(ClientError) -> FollowedTopics {
        try await answer(to: .get(follower.path(app, "topics")))
    }

    /// Changes what a user follows, or a device without its user.
    package func putTopics(
        _ app: BundleID,
        of follower: UserOrDevice,
        _ request: TopicsRequest
    ) async throws(ClientError) -> FollowedTopics {
        try await answer(to: .put(follower.path(app, "topics"), request))
    }
}

extension UserOrDevice {
    /// The path of what an app has of it, such as `topics`.
    func path(_ app: BundleID, _ part: String) -> APIPath {
        switch self {
        case .user(let id): "/v1/apps/\(app)/users/\(id)/\(part)"
        case .device(let id): "/v1/apps/\(app)/devices/\(id)/\(part)"
        }
    }
}
