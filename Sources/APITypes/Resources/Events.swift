package import ActivityModel
package import JSON

/// Where a page of events begins.
package enum EventOrder: String, Sendable, Hashable, CaseIterable {
    case oldestFirst = "oldest"
    case newestFirst = "newest"
}

/// Something that happened, as `/v1/events` reports it. `docs/reference/events.md` explains each kind.
package struct EventResource: Sendable, Hashable {
    /// The position in the stream. Send it as `Last-Event-ID` or `cursor` to continue after this event.
    package var id: String
    package var at: Instant
    /// An open set of words: later versions may add more.
    package var kind: String
    package var bundleID: BundleID?
    package var environment: APNSEnvironment?
    package var activityID: ActivityID?
    package var deviceID: DeviceID?
    /// Further facts, depending on the kind. It never contains a token, a key or a payload.
    package var detail: JSONObject

    package init(
        id: String,
        at: Instant,
        kind: String,
        bundleID: BundleID? = nil,
        environment: APNSEnvironment? = nil,
        activityID: ActivityID? = nil,
        deviceID: DeviceID? = nil,
        detail: JSONObject = [:]
    ) {
        self.id = id
        self.at = at
        self.kind = kind
        self.bundleID = bundleID
        self.environment = environment
        self.activityID = activityID
        self.deviceID = deviceID
        self.detail = detail
    }
}

extension EventResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .string),
        .required("at", \.at, .time),
        .required("kind", \.kind, .string),
        .optional("bundle_id", \.bundleID, .bundleID),
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("activity_id", \.activityID, .activityID),
        .optional("device_id", \.deviceID, .deviceID),
        .required("detail", \.detail, .object),
        make: Self.init
    )
}
