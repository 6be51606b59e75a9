package import APITypes
package import ActivityModel

/// Filters events. A nil field selects all.
package struct EventQuery: Sendable, Hashable {
    package var app: BundleID?
    package var activity: ActivityID?
    package var device: DeviceID?
    /// Empty: all kinds.
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
    /// A page of events, oldest first, from a cursor on. An empty page may still have a next page. After the last page,
    /// the id of its last event is the cursor for later calls.
    package func events(
        _ query: EventQuery,
        _ page: PageRequest = PageRequest()
    ) async throws(ClientError) -> Page<EventResource> {
        try await answer(to: .get("/v1/events", query: query.filters + page.query))
    }

    /// Live events, from now on or after the event with this id; `0-0` is before the oldest. `patience` is the longest
    /// silence of the server, which sends a heartbeat every 15 s.
    package func follow(
        _ query: EventQuery,
        after id: String? = nil,
        patience: Duration = .seconds(45)
    ) -> EventSequence {
        EventSequence(client: self, query: query, place: id, patience: patience)
    }
}
