package import APITypes
import ActivityModel
package import Postgres
import Store

/// Reads the rows of `schedules` for the answers of the API.
package enum ScheduleReading {
    /// The columns that ``decode(_:)`` reads, of the schedule `s` and its activity `a`.
    package static let columns = """
        s.activity_key, s.schedule_id::text, a.activity_id, s.kind::text, s.due_at, s.state::text, s.reason
        """

    /// Reads the ``columns``.
    package static func decode(_ rows: Rows) throws -> [(activityKey: Int64, ScheduleResource)] {
        try rows.map { row in (activityKey: try row["activity_key"], try schedule(row)) }
    }

    private static func schedule(_ row: Row) throws -> ScheduleResource {
        try ScheduleResource(
            id: row["schedule_id"],
            activityID: ActivityID(stored: row["activity_id"]),
            kind: .stored(row["kind"]),
            dueAt: row["due_at"],
            state: .stored(row["state"]),
            reason: row["reason"]
        )
    }
}
