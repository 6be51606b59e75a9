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

extension EventResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let id = reader.required("id", .string)
        let at = reader.required("at", .time)
        let kind = reader.required("kind", .string)
        let bundleID = reader.optional("bundle_id", .bundleID)
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let activityID = reader.optional("activity_id", .activityID)
        let deviceID = reader.optional("device_id", .deviceID)
        let detail = reader.required("detail", .object)
        guard reader.finish(), let id, let at, let kind, let detail else { return nil }
        self.init(
            id: id,
            at: at,
            kind: kind,
            bundleID: bundleID,
            environment: environment,
            activityID: activityID,
            deviceID: deviceID,
            detail: detail
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("id", id)
        fields.add("at", at)
        fields.add("kind", kind)
        fields.add("bundle_id", bundleID?.rawValue)
        fields.add("environment", environment?.rawValue)
        fields.add("activity_id", activityID?.rawValue)
        fields.add("device_id", deviceID?.rawValue)
        fields.add("detail", detail)
        return fields.json
    }
}
