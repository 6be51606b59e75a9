import ActivityModel
import FoundationEssentials
import Postgres

/// What accepted changes give the segments of their activities to do: the statement that ends the transaction which
/// accepts them.
///
/// Nothing where a ring is empty. What rests is leased to this daemon at once, as far as it has workers, so that nobody has
/// to look for it. Everything else is due.
struct AcceptedWork {
    /// The activities with accepted changes, in the order of their keys.
    let activityKeys: [Int64]
    /// The rings that are taken past a revision instead of being woken, if they are empty still.
    let empty: [(ring: EmptyRing, revision: Revision)]
    /// Of the activities those whose ring may be leased.
    let leasable: [Int64]
    /// How long a lease lasts, and whose it is.
    let lease: Duration
    let daemon: UUID

    /// What came of it.
    struct Outcome: Sendable {
        /// Segments that this daemon has to serve now.
        var leases: [SegmentLease] = []
        /// Whether others are due, for whoever is free.
        var hasMore = false

        /// Reads the rows of ``statement``.
        init(_ rows: Rows) throws {
            for (activityKey, segment, owner, isDue) in try rows.decoded(as: (Int64, Int16, String?, Bool).self) {
                if let owner {
                    leases.append(SegmentLease(activityKey: activityKey, segment: segment, owner: owner))
                } else if isDue {
                    hasMore = true
                }
            }
        }

        init() {}
    }

    /// As ``SegmentStore/wake(activityKeys:segments:)``.
    var statement: Query {
        """
        WITH woken AS MATERIALIZED (
            SELECT g.activity_key, g.segment, e.wakes, e.revision,
                   g.lease_owner IS NULL AND g.segment = 0 AND g.activity_key = ANY(\(leasable))
                   AND (g.due_at IS NULL OR g.due_at <= clock_timestamp()) AS is_free
            FROM segments AS g LEFT JOIN unnest(
                \(empty.map(\.ring.activityKey)), \(empty.map(\.ring.segment)), \(empty.map(\.ring.wakes)),
                \(empty.map(\.revision))
            ) AS e(activity_key, segment, wakes, revision) USING (activity_key, segment)
            WHERE g.activity_key = ANY(\(activityKeys))
            ORDER BY g.activity_key, g.segment FOR NO KEY UPDATE OF g
        )
        UPDATE segments AS s
        SET (completed_revision, due_at, wakes, lease_owner, lease_daemon, lease_until) = (
            SELECT CASE WHEN is_empty THEN woken.revision ELSE s.completed_revision END,
                   CASE WHEN is_empty THEN s.due_at ELSE least(s.due_at, clock_timestamp()) END,
                   CASE WHEN is_empty THEN s.wakes ELSE s.wakes + 1 END,
                   CASE WHEN woken.is_free AND NOT is_empty THEN gen_random_uuid() ELSE s.lease_owner END,
                   CASE WHEN woken.is_free AND NOT is_empty THEN \(daemon) ELSE s.lease_daemon END,
                   CASE WHEN woken.is_free AND NOT is_empty THEN clock_timestamp() + \(lease) ELSE s.lease_until END
            FROM coalesce(s.wakes = woken.wakes, false) AS is_empty
        )
        FROM woken WHERE s.activity_key = woken.activity_key AND s.segment = woken.segment
        RETURNING s.activity_key, s.segment, CASE WHEN woken.is_free THEN s.lease_owner::text END, s.due_at IS NOT NULL
        """
    }
}
