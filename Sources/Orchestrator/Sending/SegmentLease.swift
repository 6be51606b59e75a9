import ActivityModel
import Postgres
import Store

/// A segment that this daemon works on until the lease runs out.
struct SegmentLease: Hashable, Sendable {
    let activityKey: Int64
    let segment: Int16
    /// This piece of work, not the daemon: the same segment leased again has another owner.
    let owner: String

    var isChannel: Bool { segment == SegmentRows.channelSegment }
    var isFirstRing: Bool { segment == SegmentRows.firstRing }
    /// A further ring, of an activity that has several.
    var isFurtherRing: Bool { segment > SegmentRows.firstRing }
}

/// The device keys that a ring holds: those after one, and up to another.
struct RingRange: Hashable, Sendable {
    let after: Int64
    let through: Int64

    /// All there may be: the only ring of an activity.
    static let whole = RingRange(after: 0, through: .max)
}

/// What is stored of a leased segment.
struct SegmentProgress: Sendable {
    /// Moves whenever the segment is given work; see ``SegmentStore/rest(_:wakesSeen:hold:)``.
    var wakes: Int64
    var carousel: Carousel
    /// Failures in a row of the segment as a whole: APNs away, a credential refused.
    var failures: Int
    /// The device keys of the ring. It only changes under the ring's lease.
    let range: RingRange
    /// How many rings the activity has.
    let rings: Int
    /// Of a ring: the timestamp under which it was last sent an alert.
    let alertStamp: Timestamp?
}
