package import ActivityModel
package import FoundationEssentials
import JSON
package import Postgres
import Store

/// A leased ring, the only one of its activity, whose whole work is one routine change to a few riders, with all that
/// its push needs.
///
/// Most activities are such: one order, one phone. Many of them are read in one statement and acknowledged in another,
/// instead of a dozen statements each. A ``SegmentWorker`` does all else for a ring.
///
/// A class, because it is large, and a dozen functions pass it on between the look and the answer.
package final class SmallRing: Sendable {
    package let lease: SegmentLease
    /// ``SegmentProgress/wakes`` when it was read.
    package let wakes: Int64
    /// The revision that its walk has completed.
    package let begun: Revision
    package let failures: Int
    package let activity: ActivitySnapshot
    package let change: ChangeToSend
    /// All who have not had the change, in the order of the ring.
    package let riders: [Destination]
    /// The most riders. With so few, the sender does not check again whether it may continue (promise 5).
    static let mostRiders = 16

    init(
        _ lease: SegmentLease,
        _ update: RoutineUpdate,
        wakes: Int64,
        begun: Revision,
        failures: Int,
        riders: [Destination]
    ) {
        self.lease = lease
        self.wakes = wakes
        self.begun = begun
        self.failures = failures
        self.riders = riders
        activity = update.activity
        change = update.change
    }

    /// The columns after those of the ``RoutineUpdate``, in their order.
    private enum Column: Int {
        case wakes, begun, failures, owner, riders

        var index: Int { RoutineUpdate.columnCount + rawValue }
    }

    private convenience init(_ lease: SegmentLease, _ update: RoutineUpdate, _ row: Row) throws {
        self.init(
            lease,
            update,
            wakes: try row.decode(at: Column.wakes.index),
            begun: try row.decode(at: Column.begun.index),
            failures: Int(try row.decode(Int16.self, at: Column.failures.index)),
            riders: try Self.riders(in: row, from: Column.riders.index)
        )
    }

    /// The columns of all riders in one row, behind their number. The rows of the riders are `d`.
    static let riders = """
        count(*) AS count, array_agg(d.device_key) AS keys, array_agg(d.update_token) AS tokens,
        array_agg(d.frequent) AS frequent, array_agg(d.failures) AS failures, array_agg(d.known_revision) AS known,
        array_agg(d.confirmed_revision) AS confirmed, array_agg(d.heard_revision) AS heard
        """

    /// Reads the columns of ``riders``, without their number, which begin at a column. There is one at least.
    static func riders(in row: Row, from first: Int) throws -> [Destination] {
        let keys = try row.decode([Int64].self, at: first)
        let tokens = try row.decode([[UInt8]].self, at: first + 1)
        let frequent = try row.decode([Bool].self, at: first + 2)
        let tries = try row.decode([Int16].self, at: first + 3)
        let known = try row.decode([Int64].self, at: first + 4)
        let confirmed = try row.decode([Int64].self, at: first + 5)
        let heard = try row.decode([Int64].self, at: first + 6)
        return keys.indices.compactMap { index in
            // A CHECK keeps the length within the bounds that make this nil.
            guard let token = PushToken(bytes: tokens[index]) else { return nil }
            return Destination(
                deviceKey: keys[index],
                token: token,
                frequent: frequent[index],
                failures: Int(tries[index]),
                knownRevision: known[index],
                confirmedRevision: confirmed[index],
                heardRevision: heard[index],
                leaving: false
            )
        }
    }

    /// The walk at its end, whether riders were reached or not.
    package var passed: Carousel {
        var carousel = Carousel(completed: begun)
        carousel.turn(to: change.revision, alert: nil)
        carousel.acknowledge(through: riders.last?.deviceKey, reachedBound: true)
        return carousel
    }

    /// Whether its walk moves from one revision to the next, so that there are no merges.
    var isStep: Bool { change.revision == begun + 1 }
}

extension SmallRing {
    /// The leased segments that are small rings by the rows of a ``selection(_:of:)``. The others have more to do, or
    /// nothing.
    static func read(_ leases: [SegmentLease], _ rows: Rows) throws -> [SmallRing] {
        try RoutineUpdate.read(rows, of: leases, ownerColumn: Column.owner.index, SmallRing.init)
    }

    /// Selects the small rings among those of some activities that a daemon has leased.
    ///
    /// A ring is small if it is the only one of its activity and only routine changes have come since its walk rested.
    /// The newest change may leave under its stamp. No start, no row of its own and no halt asks for more.
    package static func selection(_ keys: [Int64], of daemon: UUID) -> Query {
        """
        SELECT \(unescaped: RoutineUpdate.columns), s.wakes, s.completed_revision, s.failures, s.lease_owner::text,
               r.keys, r.tokens, r.frequent, r.failures, r.known, r.confirmed, r.heard
        FROM unnest(\(keys)) AS l(activity_key)
        CROSS JOIN LATERAL (
            SELECT * FROM segments WHERE activity_key = l.activity_key AND segment = 0 AND lease_daemon = \(daemon)
              AND lease_until > clock_timestamp() AND through_key = \(RingRange.whole.through) OFFSET 0
        ) AS s
        \(unescaped: RoutineUpdate.tables)
        CROSS JOIN LATERAL (
            SELECT \(unescaped: riders) FROM (
                -- By the key of the lease: else the planner may look at the riders of all activities first.
                SELECT \(unescaped: Destination.columns) FROM subscriptions
                WHERE activity_key = l.activity_key AND mode = 'token' AND state = 'riding' AND known_revision < a.revision
                ORDER BY device_key LIMIT \(mostRiders + 1)
            ) AS d
        ) AS r
        WHERE \(unescaped: RoutineUpdate.condition) AND a.delivery = 'tokens' AND NOT a.enrolment_due
          AND r.count BETWEEN 1 AND \(mostRiders)
          AND \(unescaped: ActivitySnapshot.hasNoStartToSend)
          AND \(unescaped: RestingSegment.hasNo("mode = 'token' AND d.state = 'due'", orderedBy: "mode, due_at"))
          AND NOT EXISTS (
              SELECT FROM activity_app_versions AS v WHERE v.activity_key = a.activity_key AND NOT v.is_settled
          )
        """
    }
}
