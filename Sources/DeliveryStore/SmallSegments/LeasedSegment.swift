package import Postgres

/// A segment that was leased a moment ago, and what was seen of it then.
package struct LeasedSegment: Sendable {
    /// The findings about a segment.
    package struct Look: Sendable {
        /// Nil if it has more to do than a small one.
        package let small: SmallSegment?
        /// Not later than it was seen.
        let at: ContinuousClock.Instant

        package init(small: SmallSegment?, at: ContinuousClock.Instant) {
            self.small = small
            self.at = at
        }
    }

    package let lease: SegmentLease
    /// Nil if nobody has looked yet.
    var look: Look?

    package init(lease: SegmentLease, look: Look? = nil) {
        self.lease = lease
        self.look = look
    }

    /// How long a look may be acted on: about the time from a look to the push. A longer time would overlook a change
    /// that came since for no reason, or an end (promise 5).
    private static let freshness = Duration.milliseconds(100)

    /// The segments of some leases, as the rows of a ``SmallRing/selection(_:of:)`` and a
    /// ``PlainBroadcast/selection(_:of:)`` show them. The statements were sent at `time`. Nil rows: there is no lease
    /// of that kind. Unreadable rows count as missing: whoever serves the segments looks again, and reports why that
    /// fails.
    package static func all(
        _ leases: [SegmentLease],
        rings: Rows?,
        broadcasts: Rows?,
        at time: ContinuousClock.Instant
    ) -> [LeasedSegment] {
        let small: [SmallSegment]
        do {
            small =
                try (rings.map { try SmallRing.read(leases, $0) } ?? []).map(SmallSegment.ring)
                + (broadcasts.map { try PlainBroadcast.read(leases, $0) } ?? []).map(SmallSegment.broadcast)
        } catch {
            return leases.map { LeasedSegment(lease: $0) }
        }
        let byLease = Dictionary(small.map { ($0.lease, $0) }) { first, _ in first }
        return leases.map { LeasedSegment(lease: $0, look: Look(small: byLease[$0], at: time)) }
    }

    /// The look, unless it is out of date.
    package func freshLook(at now: ContinuousClock.Instant) -> Look? {
        guard let look, look.at.duration(to: now) < Self.freshness else { return nil }
        return look
    }
}
