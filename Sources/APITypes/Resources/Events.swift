package import ActivityModel
package import JSON

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

extension EventResource: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(id: $0, at: $1, kind: $2, detail: $3) }) {
        required("id", .string, \.id)
        required("at", .time, \.at)
        required("kind", .string, \.kind)
        optional("bundle_id", .bundleID, \.bundleID)
        optional("environment", .word(APNSEnvironment.self), \.environment)
        optional("activity_id", .activityID, \.activityID)
        optional("device_id", .deviceID, \.deviceID)
        required("detail", .object, \.detail)
    }
}
