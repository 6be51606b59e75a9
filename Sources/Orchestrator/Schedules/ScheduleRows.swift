import APITypes
import ActivityModel
import Postgres
import Store

/// The rows of `schedules`.
enum ScheduleRows {
    /// Reads activity key, schedule id, activity id, kind, due time, state and reason, in this order.
    static func decode(_ rows: Rows) throws -> [(activityKey: Int64, ScheduleResource)] {
        try rows.decoded(as: (Int64, String, String, String, PGTimestamp, String, String?).self).map {
            key,
            id,
            activity,
            kind,
            dueAt,
            state,
            reason in
            let schedule = ScheduleResource(
                id: id,
                activityID: ActivityID(stored: activity),
                kind: try .stored(kind),
                dueAt: Instant(dueAt),
                state: try .stored(state),
                reason: reason
            )
            return (key, schedule)
        }
    }
}
