package import JSON

/// What is stored of one activity and decides what may happen to it next.
package struct ActivityStanding: Sendable, Hashable {
    /// The newest accepted change.
    package var revision: Revision
    /// The highest stamp ever given to a push of this activity; `nil` before the first.
    package var lastTimestamp: Timestamp?
    /// The newest accepted content state.
    package var contentState: JSONValue
    /// The newest accepted `event_time`, in microseconds since 1970.
    package var eventTime: Int64?
    /// Accepted `must_deliver` changes that have not yet reached every destination; nil: no destination is owed any,
    /// because the activity has not begun and nobody has a card of it.
    package var openBarriers: Int?

    /// A standing of these parts.
    package init(
        revision: Revision,
        lastTimestamp: Timestamp?,
        contentState: JSONValue,
        eventTime: Int64? = nil,
        openBarriers: Int? = 0
    ) {
        self.revision = revision
        self.lastTimestamp = lastTimestamp
        self.contentState = contentState
        self.eventTime = eventTime
        self.openBarriers = openBarriers
    }
}
