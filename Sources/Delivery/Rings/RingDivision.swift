import DeliveryStore
import Postgres
import Store
import Synchronization

/// Divides a ring that holds too much into several, so that several daemons can carry its activity.
///
/// Each new ring takes over the cursor and the laps. They name device keys, so they stay true for the keys of that
/// ring. No push is repeated, and none is forgotten.
struct RingDivision: Sendable {
    let room: DeliveryRoom
    /// The lease of a ring whose walk stands still.
    let lease: SegmentLease
    let range: RingRange

    /// How many rings an activity has at most.
    static let mostRings = 4

    /// Counts, and divides the ring if it holds more than ``OrchestratorSettings/ringSize``. Nothing is locked while it
    /// counts: the rings need not be equal.
    ///
    /// - Throws: ``LeaseLost``; then nothing is divided.
    func run() async throws {
        let limit = room.settings.ringSize
        let riders = try await riders(pageSize: max(1, min(10_000, limit / 4)))
        guard riders.count > limit else { return }
        let isDivided = try await room.database.withTransaction { connection in
            // An accept wakes the existing rings under this lock.
            _ = try await connection.query(
                "SELECT FROM activities WHERE activity_key = \(lease.activityKey) FOR NO KEY UPDATE"
            )
            let rows = try await connection.query(
                "SELECT count(*) FROM segments WHERE activity_key = \(lease.activityKey) AND segment >= 0"
            )
            let rings = try rows.single(Int64.self) ?? 0
            let cuts = riders.cuts(into: min((riders.count + limit - 1) / limit, Self.mostRings - Int(rings) + 1))
            guard !cuts.isEmpty else { return false }
            let results = try await connection.pipeline([
                division(at: cuts, firstNumber: Int16(rings)), alignment(firstNumber: Int16(rings)),
                WorkNotifications.announcement,
            ])
            guard !results[0].isEmpty else { throw LeaseLost() }
            return true
        }
        if isDivided { room.wakeUps.signal() }
    }

    /// The riders of the ring, page by page.
    private func riders(pageSize: Int) async throws -> RingRiders {
        var riders = RingRiders()
        try await KeyPages(database: room.database, size: pageSize).read(
            after: range.after,
            bound: { after, size in
                """
                SELECT max(device_key), count(*) FROM (
                    SELECT device_key FROM subscriptions
                    WHERE activity_key = \(lease.activityKey) AND mode = 'token' AND state = 'riding'
                      AND device_key > \(after) AND device_key <= \(range.through)
                    ORDER BY device_key LIMIT \(size)
                ) AS page
                """
            },
            { page in
                riders.add(page)
                return true
            }
        )
        return riders
    }

    /// Rings are numbered in the order of their making.
    private func division(at cuts: [Int64], firstNumber: Int16) -> Query {
        let numbers = cuts.indices.map { firstNumber + Int16($0) }
        let ends = Array(cuts.dropFirst()) + [range.through]
        return """
            WITH mine AS (
                UPDATE segments SET through_key = \(cuts[0])
                WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
                  AND lease_owner = \(lease.owner)::uuid AND lease_until > clock_timestamp()
                RETURNING *
            )
            INSERT INTO segments (activity_key, segment, after_key, through_key, due_at, completed_revision, lap_revision,
                lap_origin, alert_revision, alert_origin, alert_stamp, unsent_after, cursor, pushed_at)
            SELECT m.activity_key, n.segment, n.after_key, n.through_key, clock_timestamp(), m.completed_revision,
                   m.lap_revision, m.lap_origin, m.alert_revision, m.alert_origin, m.alert_stamp,
                   m.unsent_after, m.cursor, m.pushed_at
            FROM mine AS m, unnest(\(numbers), \(cuts), \(ends)) AS n(segment, after_key, through_key)
            RETURNING segment
            """
    }

    /// App versions that are settled for the ring are settled for the new rings, too.
    private func alignment(firstNumber: Int16) -> Query {
        """
        UPDATE activity_app_versions AS v
        SET settled_rings = v.settled_rings || ARRAY(
            SELECT segment FROM segments AS g WHERE g.activity_key = v.activity_key AND g.segment >= \(firstNumber)
        )
        WHERE v.activity_key = \(lease.activityKey) AND NOT v.is_settled AND \(lease.segment) = ANY (v.settled_rings)
        """
    }
}

/// How much a ring has sent since somebody has counted what it holds.
final class RingCensus: Sendable {
    private let pushes = Atomic(0)

    func add(_ count: Int) { pushes.add(count, ordering: .relaxed) }

    /// Whether it was more than `limit` since the last time that this was so. A ring cannot hold more than it sends in
    /// a lap; whether it does has to be counted.
    func isOver(_ limit: Int) -> Bool {
        guard pushes.load(ordering: .relaxed) >= limit else { return false }
        pushes.store(0, ordering: .relaxed)
        return true
    }
}
