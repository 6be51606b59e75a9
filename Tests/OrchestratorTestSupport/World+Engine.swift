import ActivityModel
import Postgres
import TestSupport
import Testing

@testable package import Delivery
@testable package import DeliveryStore
@testable import Orchestrator
@testable package import Store

/// What only the engine's own tests, and those of intake, do.
extension World {
    /// An activity as its first ring sees it.
    package func snapshot(of activityKey: Int64) async throws -> ActivitySnapshot? {
        let rows = try await database.query(ActivitySnapshot.selection(activityKey, for: SegmentRows.firstRing))
        return try ActivitySnapshot.read(activityKey, rows)
    }

    /// Turns the whole audience of an activity into starts, as if it had just changed, and sends nothing.
    package func enrol(_ activityKey: Int64) async throws {
        _ = try await database.pipeline([
            """
            UPDATE activities SET enrolment_due = true, enrolled_members = 0, enrolled_devices = least(enrolled_devices, 0) - 1
            WHERE activity_key = \(activityKey)
            """,
            "UPDATE segments SET due_at = now() WHERE activity_key = \(activityKey) AND segment = 0",
        ])
        let leases = try await orchestrator.deliveryStore.segments.claim(limit: 1)
        let lease = try #require(leases.first)
        while let place = try await snapshot(of: activityKey)?.enrolment {
            _ = try await orchestrator.deliveryStore.enrolStretch(after: place, under: lease)
        }
        try await orchestrator.deliveryStore.segments.release(lease)
    }

    /// Turns the next stretch of an audience into starts, and says whether there is more.
    package func enrolStretch(under lease: SegmentLease) async throws -> Bool {
        let place = try #require(try await snapshot(of: lease.activityKey)?.enrolment)
        return try await orchestrator.deliveryStore.enrolStretch(after: place, under: lease).rest != nil
    }

    /// The claims of starts with the newest change, as a worker makes them that looks now.
    package func startClaims(under lease: SegmentLease) async throws -> StartClaims {
        let activity = try #require(try await snapshot(of: lease.activityKey))
        let change = try #require(try await orchestrator.deliveryStore.changes.stamped(activity.newest, under: lease))
        return StartClaims(
            room: orchestrator.delivery,
            lease: lease,
            activity: activity,
            delivery: .tokens,
            change: change
        )
    }

    /// Registers devices that can be started, as many as asked for: `crowd1`, `crowd2`, and so on.
    package func registerCrowd(_ count: Int) async throws {
        try await database.execute(
            """
            WITH crowd AS (
                INSERT INTO devices (bundle_id, device_id, environment, os_version)
                SELECT \(app.rawValue), 'crowd' || n, 'production', '18.0' FROM generate_series(1, \(count)) AS n
                RETURNING device_key
            )
            INSERT INTO start_tokens (device_key, type_name, token)
            SELECT device_key, 'Game', int8send(device_key) FROM crowd
            """
        )
    }
}
