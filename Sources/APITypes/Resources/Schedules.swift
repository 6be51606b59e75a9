package import ActivityModel
import JSON

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

extension ScheduleResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .string),
        .required("activity_id", \.activityID, .activityID),
        .required("kind", \.kind, .word(ChangeKind.self)),
        .required("due_at", \.dueAt, .time),
        .required("state", \.state, .word(ScheduleState.self)),
        .optional("reason", \.reason, .string),
        make: Self.init
    )
}
