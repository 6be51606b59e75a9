import ActivityModel
import DeliveryStore
import FoundationEssentials
import Postgres
import Store

/// The work that accepted changes give the segments of their activities: the statement that ends the accepting
/// transaction.
///
/// An empty ring gets no work. If only one segment of an activity has work, and it rests, this daemon leases it at once
/// while it has free workers. So nobody has to look for it. All other segments become due.
struct AcceptedWork {
    /// A segment as it was read under the lock of its activity.
    struct Segment {
        let number: Int16
        /// ``SegmentProgress/wakes`` of an ``EmptyRing``; nil for any other segment.
        let emptySince: Int64?
    }

    /// The work of one segment.
    private struct Share {
        let activityKey: Int64
        let segment: Int16
        /// Set for a ring that was empty. If it is still empty, it is moved past the revision instead of being woken.
        let emptySince: Int64?
        let revision: Revision
        /// Whether the activity has ended with it: an end cuts the pause after a failure short, once (promise 2).
        let isEnd: Bool
        /// Whether this daemon may serve it at once, if it rests.
        let isLeasable: Bool
    }

    /// In the order in which everybody locks segments.
    private var shares: [Share] = []
    private var leasable: Int
    /// How long a lease lasts, and whose it is.
    private let lease: Duration
    private let daemon: UUID

    /// No work yet. At most `limit` segments may be leased.
    init(leasing limit: Int, for segments: SegmentStore) {
        leasable = limit
        lease = segments.lease
        daemon = segments.daemon
    }

    /// Adds an activity by its newest accepted revision; in the order of their keys. A change that concerns more than
    /// the riders skips no ring.
    mutating func add(
        _ activityKey: Int64,
        _ segments: [Segment],
        revision: Revision,
        concernsAll: Bool,
        isEnd: Bool
    ) {
        let isAlone = segments.count(where: { $0.emptySince == nil }) == 1
        for segment in segments {
            let emptySince = concernsAll ? nil : segment.emptySince
            // Several segments are for several daemons.
            let isLeasable =
                isAlone && segment.emptySince == nil && segment.number <= SegmentRows.firstRing && leasable > 0
            if isLeasable { leasable -= 1 }
            shares.append(
                Share(
                    activityKey: activityKey,
                    segment: segment.number,
                    emptySince: emptySince,
                    revision: revision,
                    isEnd: isEnd,
                    isLeasable: isLeasable
                )
            )
        }
    }

    /// The activities whose first ring this daemon may serve at once.
    var leasableRings: [Int64] { leasableKeys(of: SegmentRows.firstRing) }

    /// The activities whose channel it may serve at once.
    var leasableChannels: [Int64] { leasableKeys(of: SegmentRows.channelSegment) }

    private func leasableKeys(of segment: Int16) -> [Int64] {
        shares.filter { $0.isLeasable && $0.segment == segment }.map(\.activityKey)
    }

    /// The outcome of the statement.
    struct Outcome: Sendable {
        /// Segments that this daemon has to serve now.
        var leases: [SegmentLease] = []
        /// Whether others are due, for whoever is free.
        var hasMore = false
    }

    /// Reads the rows of ``statement``.
    func outcome(_ rows: Rows) throws -> Outcome {
        var outcome = Outcome()
        for (place, owner, isDue) in try rows.decoded(as: (Int32, String?, Bool).self) {
            if let owner {
                let share = shares[Int(place)]
                outcome.leases.append(
                    SegmentLease(activityKey: share.activityKey, segment: share.segment, owner: owner)
                )
            } else if isDue {
                outcome.hasMore = true
            }
        }
        return outcome
    }

    /// As ``SegmentStore/wake(activityKeys:segments:)``. Rows are locked in their order, because the loop over them is
    /// the outer one (``Query/planningOnce``).
    var statement: Query {
        """
        UPDATE segments AS s
        SET completed_revision = CASE WHEN \(unescaped: Self.isEmpty) THEN w.revision ELSE s.completed_revision END,
            unsent_after = CASE WHEN NOT \(unescaped: Self.isEmpty) THEN s.unsent_after END,
            due_at = CASE WHEN \(unescaped: Self.isEmpty) THEN s.due_at WHEN w.is_end THEN least(s.due_at, w.now)
                ELSE \(unescaped: SegmentRows.dueNow("s", now: "w.now")) END,
            retry_at = CASE WHEN NOT w.is_end AND NOT \(unescaped: Self.isTaken) THEN s.retry_at END,
            wakes = CASE WHEN \(unescaped: Self.isEmpty) THEN s.wakes ELSE s.wakes + 1 END,
            lease_owner = CASE WHEN \(unescaped: Self.isTaken) THEN w.owner ELSE s.lease_owner END,
            lease_daemon = CASE WHEN \(unescaped: Self.isTaken) THEN \(daemon) ELSE s.lease_daemon END,
            lease_until = CASE WHEN \(unescaped: Self.isTaken) THEN w.now + \(lease) ELSE s.lease_until END
        FROM (
            SELECT r.*, CASE WHEN r.is_leasable THEN gen_random_uuid() END AS owner, clock_timestamp() AS now
            FROM \(rows: [
                .each("place", shares.indices.map(Int32.init)),
                .each("activity_key", shares.map(\.activityKey)),
                .usually(0, "segment", shares.map(\.segment)),
                .rarely("empty_since", shares.map(\.emptySince)),
                .each("revision", shares.map(\.revision)),
                .usually(false, "is_end", shares.map(\.isEnd)),
                .each("is_leasable", shares.map(\.isLeasable)),
            ]) AS r
        ) AS w
        WHERE \(unescaped: Query.byKey("s", "w", "activity_key", "segment"))
        RETURNING w.place, CASE WHEN s.lease_owner = w.owner THEN s.lease_owner::text END, s.due_at IS NOT NULL
        """
    }

    /// It was empty when it was looked at, and nothing has woken it since.
    private static let isEmpty = "s.wakes IS NOT DISTINCT FROM w.empty_since"
    private static let isTaken = """
        (w.owner IS NOT NULL AND s.lease_owner IS NULL AND (s.due_at IS NULL OR s.due_at <= w.now))
        """
}
