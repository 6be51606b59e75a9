package import JSON

/// The stored facts of one activity that decide its next change. ``ActivityStateMachine`` reads and updates them.
package struct ActivityStanding: Sendable, Hashable {
    /// The newest accepted change.
    package var revision: Revision
    /// The highest stamp ever given to a push of this activity; `nil` before the first.
    package var lastTimestamp: Timestamp?
    /// The newest accepted content state.
    package var contentState: JSONValue
    /// The newest accepted `event_time`, in microseconds since 1970.
    package var eventTime: Int64?
    /// Accepted `must_deliver` changes that have not yet reached every destination. `nil` before the activity begins:
    /// no one has a card yet, so no destination can miss one.
    package var openBarriers: Int?

    /// Creates a standing from its parts.
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
