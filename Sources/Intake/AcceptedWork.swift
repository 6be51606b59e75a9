import ActivityModel
import DeliveryStore
import FoundationEssentials
import Postgres
import Store

/// The work that accepted changes give the segments of their activities: the statement that ends the accepting
/// transaction.
///
/// An empty ring gets no work. If only one segment of an activity has work, and it rests, this daemon leases it at once
/// while it has free workers. So nobody has to look for it, and mostly it is known what to send. All other segments become
/// due.
struct AcceptedWork {
    /// What was accepted of an activity.
    struct Accepted {
        let activityKey: Int64
        /// The newest of it.
        let revision: Revision
        /// Whether it concerns more than the riders. Then it skips no ring.
        let concernsAll: Bool
        /// Whether the activity has ended with it: an end cuts the pause after a failure short, once (promise 2).
        let isEnd: Bool
        /// Set if it is no more than new states.
        let routine: RoutineUpdate?
    }

    /// The work of one segment.
    fileprivate struct Share {
        let accepted: Accepted
        let segment: StandingRow.Segment
        /// Set for a ring that was empty. If it is still empty, it is moved past the revision instead of being woken.
        let emptySince: Int64?
        /// Whether this daemon may serve it at once, if it rests.
        let isLeasable: Bool

        var activityKey: Int64 { accepted.activityKey }
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

    /// Adds an activity with its segments; in the order of the activities' keys.
    mutating func add(_ accepted: Accepted, to segments: [StandingRow.Segment]) {
        let isAlone = segments.count(where: { $0.emptySince == nil }) == 1
        for segment in segments {
            let emptySince = accepted.concernsAll ? nil : segment.emptySince
            // Several segments are for several daemons.
            let isLeasable =
                isAlone && segment.emptySince == nil && segment.number <= SegmentRows.firstRing && leasable > 0
            if isLeasable { leasable -= 1 }
            shares.append(
                Share(
                    accepted: accepted,
                    segment: segment,
                    emptySince: emptySince,
                    isLeasable: isLeasable
                )
            )
        }
    }

    /// The activities whose newest change counts as sent once their first ring has completed it.
    var sentWithRing: Set<Int64> {
        Set(shares.filter { $0.accepted.routine?.isSentWithRing == true }.map(\.activityKey))
    }

    /// The outcome of the statement.
    struct Outcome: Sendable {
        /// Segments that this daemon has to serve now.
        var leases: [LeasedSegment] = []
        /// Whether others are due, for whoever is free.
        var hasMore = false
    }

    /// Reads the rows of ``statement``, which was sent at `time`. The segments were read some milliseconds before. The
    /// activity is locked since then, and the statement tells which segments were woken.
    func outcome(_ rows: Rows, sentAt time: ContinuousClock.Instant) throws -> Outcome {
        var outcome = Outcome()
        for (place, owner, isDue, wakes) in try rows.decoded(as: (Int32, String?, Bool, Int64).self) {
            if let owner {
                outcome.leases.append(shares[Int(place)].leased(by: owner, wakes: wakes, seenAt: time))
            } else if isDue {
                outcome.hasMore = true
            }
        }
        return outcome
    }

    /// What gives the segments their work (``SegmentRows/accept(_:for:lease:)``).
    var statement: Query {
        SegmentRows.accept(
            [
                .each("place", shares.indices.map(Int32.init)),
                .each("activity_key", shares.map(\.activityKey)),
                .usually(0, "segment", shares.map(\.segment.number)),
                .rarely("empty_since", shares.map(\.emptySince)),
                .each("revision", shares.map(\.accepted.revision)),
                .usually(false, "is_end", shares.map(\.accepted.isEnd)),
                .each("is_leasable", shares.map(\.isLeasable)),
            ],
            for: daemon,
            lease: lease
        )
    }
}

extension AcceptedWork.Share {
    /// The segment under the lease that the accept has taken. If it was given other work since it was read, whoever serves
    /// it looks again.
    fileprivate func leased(by owner: String, wakes: Int64, seenAt time: ContinuousClock.Instant) -> LeasedSegment {
        let lease = SegmentLease(activityKey: activityKey, segment: segment.number, owner: owner)
        guard let rest = segment.rest, wakes == rest.wakes + 1 else { return LeasedSegment(lease: lease) }
        let update = accepted.routine.flatMap { rest.sending($0, under: lease) }
        return LeasedSegment(lease: lease, look: LeasedSegment.Look(small: update.map(SmallSegment.update), at: time))
    }
}
