import Postgres

/// A segment that was leased a moment ago, and what was seen of it then.
struct LeasedSegment: Sendable {
    /// What a segment was found to be.
    struct Look: Sendable {
        /// Nil if it is no small ring.
        let ring: SmallRing?
        /// Not later than it was seen.
        let at: ContinuousClock.Instant
    }

    let lease: SegmentLease
    /// Nil if nobody has looked yet.
    var look: Look?

    /// How long what was seen may be acted upon: as long as it takes from a look to the push, not longer, lest a change
    /// that came since is overlooked for no reason, or an end (promise 5).
    private static let freshness = Duration.milliseconds(100)

    /// Those of some leases as the rows of a ``SmallRing/selection(_:of:)`` show them, which was sent at a time. Rows
    /// that cannot be read are as none: whoever serves the segments looks again, and says why that fails.
    static func all(_ leases: [SegmentLease], seenIn rows: Rows?, at time: ContinuousClock.Instant) -> [LeasedSegment] {
        guard let rows, let rings = try? SmallRing.read(leases, rows) else {
            return leases.map { LeasedSegment(lease: $0) }
        }
        let byLease = Dictionary(rings.map { ($0.lease, $0) }) { first, _ in first }
        return leases.map { LeasedSegment(lease: $0, look: Look(ring: byLease[$0], at: time)) }
    }

    /// The look, unless it is out of date.
    func freshLook(at now: ContinuousClock.Instant) -> Look? {
        guard let look, look.at.duration(to: now) < Self.freshness else { return nil }
        return look
    }
}
