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

extension ScheduleResource: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(id: $0, activityID: $1, kind: $2, dueAt: $3, state: $4) }) {
        required("id", .string, \.id)
        required("activity_id", .activityID, \.activityID)
        required("kind", .word(ChangeKind.self), \.kind)
        required("due_at", .time, \.dueAt)
        required("state", .word(ScheduleState.self), \.state)
        optional("reason", .string, \.reason)
    }
}
