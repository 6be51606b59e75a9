package import ActivityModel
package import Store

/// What is stored of a leased segment.
package struct SegmentProgress: Sendable {
    /// Moves whenever the segment is given work; see ``SegmentStore/rest(_:wakesSeen:hold:)``.
    package var wakes: Int64
    package var carousel: Carousel
    /// Failures in a row of the segment as a whole: APNs away, a credential refused.
    package var failures: Int
    /// The device keys of the ring. It only changes under the ring's lease.
    package let range: RingRange
    /// How many rings the activity has.
    package let rings: Int
    /// Of a ring: the timestamp under which it was last sent an alert.
    package let alertStamp: Timestamp?
}
