package import APITypes
package import ActivityModel

/// Which events are wanted; nil: all of them.
package struct EventQuery: Sendable, Hashable {
    package var app: BundleID?
    package var activity: ActivityID?
    package var device: DeviceID?
    /// Empty: every kind.
    package var kinds: [String]

    package init(
        app: BundleID? = nil,
        activity: ActivityID? = nil,
        device: DeviceID? = nil,
        kinds: [String] = []
    ) {
        self.app = app
        self.activity = activity
        self.device = device
        self.kinds = kinds
    }
}

extension TallyClient {
    /// Events from the oldest, or from a cursor on. A page may be empty and still have a next one; after the last, the id of
    /// its last event is the cursor to go on with later.
    package func events(
        _ query: EventQuery,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<EventResource> {
        let kinds = query.kinds.isEmpty ? nil : query.kinds.joined(separator: ",")
        let filters: [(name: String, value: String?)] = [
            ("bundle_id", query.app?.rawValue), ("activity_id", query.activity?.rawValue),
            ("device_id", query.device?.rawValue), ("kind", kinds),
        ]
        return try await answer(Page<EventResource>.self, to: .get("/v1/events", query: filters + page.query))
    }
}
