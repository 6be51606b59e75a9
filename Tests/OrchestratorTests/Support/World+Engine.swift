import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

/// What only the engine's own tests do.
extension World {
    /// An activity as its first ring sees it.
    func snapshot(of activityKey: Int64) async throws -> ActivitySnapshot? {
        let rows = try await database.query(ActivitySnapshot.selection(activityKey, for: SegmentRows.firstRing))
        return try ActivitySnapshot.read(activityKey, rows)
    }

    /// Turns the whole audience of an activity into starts, as if it had just changed, and sends nothing.
    func enrol(_ activityKey: Int64) async throws {
        _ = try await database.pipeline([
            """
            UPDATE activities SET enrolment_due = true, enrolled_members = 0, enrolled_devices = least(enrolled_devices, 0) - 1
            WHERE activity_key = \(activityKey)
            """,
            "UPDATE segments SET due_at = now() WHERE activity_key = \(activityKey) AND segment = 0",
        ])
        let leases = try await orchestrator.segments.claim(limit: 1)
        let lease = try #require(leases.first)
        while let activity = try await snapshot(of: activityKey), activity.enrolment != nil {
            _ = try await orchestrator.enrolStretch(of: activity, under: lease)
        }
        try await orchestrator.segments.release(lease)
    }
}
