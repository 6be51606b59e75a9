package import ActivityModel
package import Cards
import Postgres
package import Store

/// A leased segment whose whole work is one routine change, with all that its push needs.
///
/// Most changes are such: the state of one order on one phone, or the clock of one of hundreds of matches. A
/// ``SegmentGroup`` reads many in one statement and stores their outcomes in another, instead of a dozen statements each.
/// A ``SegmentWorker`` does all else for a segment.
///
/// One that is behind is served so as well: if it were served alone, whoever falls behind under load would stay behind.
///
/// A class, because it is large, and a dozen functions pass it on between the look and the answer.
package final class PlainUpdate: Sendable {
    /// Who is sent the change.
    package enum Audience: Sendable {
        /// All who have not had it, in the order of the ring, which is the only one of its activity.
        case riders([Destination])
        /// Everybody who listens to a channel.
        case channel(BroadcastAddress)

        /// The riders of a ring; nil for a channel.
        package var riders: [Destination]? { if case .riders(let riders) = self { riders } else { nil } }
    }

    package let lease: SegmentLease
    /// ``SegmentProgress/wakes`` when it was read.
    package let wakes: Int64
    /// The revision that its walk has completed, or that it broadcast last.
    package let begun: Revision
    /// Failures in a row.
    package let failures: Int
    package let activity: ActivitySnapshot
    package let change: ChangeToSend
    package let audience: Audience

    init(
        _ lease: SegmentLease,
        _ update: RoutineUpdate,
        wakes: Int64,
        begun: Revision,
        failures: Int,
        to audience: Audience
    ) {
        self.lease = lease
        self.wakes = wakes
        self.begun = begun
        self.failures = failures
        self.audience = audience
        activity = update.activity
        change = update.change
    }

    /// The walk at its end, whether somebody was reached or not.
    package var passed: Carousel {
        var carousel = Carousel(completed: begun)
        carousel.turn(to: change.revision, alert: nil)
        carousel.acknowledge(through: audience.riders?.last?.deviceKey, reachedBound: true)
        return carousel
    }

    /// Whether it moves from one revision to the next, so that there are no merges.
    var isStep: Bool { change.revision == begun + 1 }

    /// The revisions to merge into the change once it was sent.
    fileprivate var jump: ChangeStore.Jump {
        ChangeStore.Jump(activityKey: lease.activityKey, after: begun, into: change.revision)
    }
}

extension [PlainUpdate] {
    /// What they have jumped over: nothing if each moves from one revision to the next, as nearly always. If one has
    /// jumped, all are in it, so that the changes of all are locked in the order of their keys.
    var jumps: [ChangeStore.Jump] { allSatisfy(\.isStep) ? [] : map(\.jump) }
}

extension PlainUpdate {
    /// The columns that every selection has before those of its audience, of the segment `s`.
    static let columns = """
        \(RoutineUpdate.columns), s.wakes, s.completed_revision, s.failures, s.lease_owner::text
        """

    /// The columns after those of the ``RoutineUpdate``, in their order.
    private enum Column: Int {
        case wakes, begun, failures, owner, audience

        var index: Int { RoutineUpdate.columnCount + rawValue }
    }

    /// The leased rings that are in the rows of a selection. The others have more to do, or nothing.
    static func rings(_ leases: [SegmentLease], _ rows: Rows) throws -> [SmallSegment] {
        try read(leases, rows) { try riders(in: $0, from: $1) }
    }

    /// The same for channels.
    static func channels(_ leases: [SegmentLease], _ rows: Rows) throws -> [SmallSegment] {
        try read(leases, rows) { try BroadcastAddress($0, from: $1).map(Audience.channel) }
    }

    /// `audience` reads the columns that begin at the given one.
    private static func read(
        _ leases: [SegmentLease],
        _ rows: Rows,
        _ audience: (Row, Int) throws -> Audience?
    ) throws -> [SmallSegment] {
        try RoutineUpdate.read(rows, of: leases, ownerColumn: Column.owner.index) { lease, update, row in
            guard let audience = try audience(row, Column.audience.index) else { return nil }
            let update = PlainUpdate(
                lease,
                update,
                wakes: try row.decode(at: Column.wakes.index),
                begun: try row.decode(at: Column.begun.index),
                failures: Int(try row.decode(Int16.self, at: Column.failures.index)),
                to: audience
            )
            return .update(update)
        }
    }
}
