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

    var filters: [(name: String, value: String?)] {
        [
            ("bundle_id", app?.rawValue), ("activity_id", activity?.rawValue), ("device_id", device?.rawValue),
            ("kind", kinds.isEmpty ? nil : kinds.joined(separator: ",")),
        ]
    }
}

extension TallyClient {
    /// Events from the oldest, or from a cursor on. A page may be empty and still have a next one; after the last, the
    /// id of its last event is the cursor to go on with later.
    package func events(
        _ query: EventQuery,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<EventResource> {
        try await answer(Page<EventResource>.self, to: .get("/v1/events", query: query.filters + page.query))
    }

    /// Events as they happen, from now on, or after the one with that id; `0-0` is before the oldest. The server may
    /// say nothing for as long as `patience`; that it is there it says every 15 s.
    package func follow(
        _ query: EventQuery,
        after id: String? = nil,
        patience: Duration = .seconds(45)
    ) -> EventSequence {
        EventSequence(client: self, query: query, place: id, patience: patience)
    }
}
