package import ActivityModel
package import JSON

/// The state of a schedule.
package enum ScheduleState: String, Sendable, Hashable, CaseIterable {
    case pending
    case done
    case cancelled
    /// The change was refused at its time and did not happen.
    case failed
}

/// A change that is scheduled for a time.
package struct ScheduleResource: Sendable, Hashable {
    /// A UUID.
    package var id: String
    package var activityID: ActivityID
    package var kind: ChangeKind
    package var dueAt: Instant
    package var state: ScheduleState
    /// Why it failed.
    package var reason: String?

    package init(
        id: String,
        activityID: ActivityID,
        kind: ChangeKind,
        dueAt: Instant,
        state: ScheduleState,
        reason: String? = nil
    ) {
        self.id = id
        self.activityID = activityID
        self.kind = kind
        self.dueAt = dueAt
        self.state = state
        self.reason = reason
    }
}

extension ScheduleResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let id = reader.required("id", .string)
        let activityID = reader.required("activity_id", .activityID)
        let kind = reader.required("kind", .word(ChangeKind.self))
        let dueAt = reader.required("due_at", .time)
        let state = reader.required("state", .word(ScheduleState.self))
        let reason = reader.optional("reason", .string)
        guard reader.finish(), let id, let activityID, let kind, let dueAt, let state else { return nil }
        self.init(id: id, activityID: activityID, kind: kind, dueAt: dueAt, state: state, reason: reason)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("id", id)
        fields.add("activity_id", activityID.rawValue)
        fields.add("kind", kind.rawValue)
        fields.add("due_at", dueAt)
        fields.add("state", state.rawValue)
        fields.add("reason", reason)
        return fields.json
    }
}
