package import APITypes
package import ActivityModel
package import JSON
package import Store

/// An event as it is read.
package struct EventRecord: Sendable, Hashable {
    /// Where a reader goes on after it.
    package let cursor: EventCursor
    package let at: Instant
    package let kind: Event.Kind
    package var app: BundleID?
    package var environment: APNSEnvironment?
    package var activity: ActivityID?
    package var device: DeviceID?
    package var detail: JSONObject = [:]

    /// Its form in the HTTP API.
    package var resource: EventResource {
        EventResource(
            id: cursor.description,
            at: at,
            kind: kind.word,
            bundleID: app,
            environment: environment,
            activityID: activity,
            deviceID: device,
            detail: detail
        )
    }
}

/// Events in order, and where to go on.
package struct EventPage: Sendable {
    package let events: [EventRecord]
    /// Nothing that matched the filter appears before this place any more.
    package let next: EventCursor
    /// Whether it reaches as far as the order of events is final.
    package let isLast: Bool
}

/// Which events a reader wants; what is nil does not matter.
package struct EventFilter: Sendable, Hashable {
    package var app: BundleID?
    package var activity: ActivityID?
    package var device: DeviceID?
    package var kinds: Set<Event.Kind>?

    package init(
        app: BundleID? = nil,
        activity: ActivityID? = nil,
        device: DeviceID? = nil,
        kinds: Set<Event.Kind>? = nil
    ) {
        self.app = app
        self.activity = activity
        self.device = device
        self.kinds = kinds
    }

    /// Whether the reader wants this one.
    func matches(_ event: EventRecord) -> Bool {
        (app == nil || app == event.app) && (activity == nil || activity == event.activity)
            && (device == nil || device == event.device) && kinds?.contains(event.kind) != false
    }

    /// The first `limit` of `events` that match. They are all there are from their first place to `end`.
    func page(of events: some Sequence<EventRecord>, limit: Int, end: EventCursor, isLast: Bool) -> EventPage {
        var wanted: [EventRecord] = []
        for event in events where matches(event) {
            if wanted.count == limit {
                return EventPage(events: wanted, next: wanted.last?.cursor ?? end, isLast: false)
            }
            wanted.append(event)
        }
        return EventPage(events: wanted, next: end, isLast: isLast)
    }
}
