/// A segment that this daemon works on until the lease runs out.
package struct SegmentLease: Hashable, Sendable {
    package let activityKey: Int64
    package let segment: Int16
    /// This piece of work, not the daemon: the same segment leased again has another owner.
    package let owner: String

    package init(activityKey: Int64, segment: Int16, owner: String) {
        self.activityKey = activityKey
        self.segment = segment
        self.owner = owner
    }

    /// Whether it is the channel of its activity.
    package var isChannel: Bool { segment == SegmentRows.channelSegment }
    /// Whether it is the ring that has the starts.
    package var isFirstRing: Bool { segment == SegmentRows.firstRing }
    /// A further ring, of an activity that has several.
    package var isFurtherRing: Bool { segment > SegmentRows.firstRing }
}

/// The device keys that a ring holds: those after one, and up to another.
package struct RingRange: Hashable, Sendable {
    package let after: Int64
    package let through: Int64

    package init(after: Int64, through: Int64) {
        self.after = after
        self.through = through
    }

    /// All there may be: the only ring of an activity.
    package static let whole = RingRange(after: 0, through: .max)
}
