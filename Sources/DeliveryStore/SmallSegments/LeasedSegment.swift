package import Store

/// A segment that was leased a moment ago, and what was seen of it then.
package struct LeasedSegment: Sendable {
    /// The findings about a segment.
    package struct Look: Sendable {
        /// Nil if it has more to do than a small one.
        package let small: SmallSegment?
        /// Some milliseconds after it was seen, at most.
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

    /// The look, unless it is out of date.
    package func freshLook(at now: ContinuousClock.Instant) -> Look? {
        guard let look, look.at.duration(to: now) < Self.freshness else { return nil }
        return look
    }
}
