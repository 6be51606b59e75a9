package import JSON

/// What is stored of one activity and decides what may happen to it next.
package struct ActivityStanding: Sendable, Hashable {
    /// The accepted start, against which replays are judged.
    package var start: StartRecord
    /// The newest accepted change.
    package var revision: Revision
    /// The highest stamp ever given to a push of this activity; `nil` before the first.
    package var lastTimestamp: Timestamp?
    /// The newest accepted content state.
    package var contentState: JSONValue
    /// The newest accepted `event_time`, in microseconds since 1970.
    package var eventTime: Int64?
    /// Accepted `must_deliver` changes that have not yet reached every destination.
    package var openBarriers: Int

    /// A standing of these parts.
    package init(
        start: StartRecord,
        revision: Revision,
        lastTimestamp: Timestamp?,
        contentState: JSONValue,
        eventTime: Int64? = nil,
        openBarriers: Int = 0
    ) {
        self.start = start
        self.revision = revision
        self.lastTimestamp = lastTimestamp
        self.contentState = contentState
        self.eventTime = eventTime
        self.openBarriers = openBarriers
    }
}

/// An accepted start as its caller sent it.
package struct StartRecord: Sendable, Hashable {
    /// The attributes, which no later start of the same id may change.
    package let attributes: JSONValue
    /// Everything else of the request.
    package let body: JSONObject

    /// Splits a request's body into its attributes and the rest.
    package init(body: JSONObject) {
        attributes = body["attributes"] ?? .null
        var rest = body
        rest["attributes"] = nil
        self.body = rest
    }
}
