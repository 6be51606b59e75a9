import Cards
import DeliveryStore
import Postgres
import Registry
import Store

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
            _ = try await connection.query(ActivityRows.hold(lease.activityKey))
            let rings = try await connection.query(SegmentRows.ringCount(of: lease.activityKey)).single(Int64.self) ?? 0
            let cuts = riders.cuts(into: min((riders.count + limit - 1) / limit, Self.mostRings - Int(rings) + 1))
            guard !cuts.isEmpty else { return false }
            let first = Int16(rings)
            let results = try await connection.pipeline([
                SegmentRows.division(of: lease, at: cuts, through: range.through, firstNumber: first),
                AppVersionRows.settlement(ofRingsFrom: first, like: lease.segment, of: lease.activityKey),
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
            bound: {
                SubscriptionRows.boundOfRiders(of: lease.activityKey, after: $0, through: range.through, limit: $1)
            },
            { page in
                riders.add(page)
                return true
            }
        )
        return riders
    }
}
