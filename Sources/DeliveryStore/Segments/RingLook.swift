import ActivityModel
import Cards
package import Postgres
package import Store

/// The result of checking whether the next slice of a ring may leave.
package struct RingLook: Sendable {
    /// Whether more may leave.
    package let mayGoOn: Bool
    /// Whether the segment has work apart from the walk.
    package let hasOtherWork: Bool

    /// The statement whose rows ``init(_:)`` reads. More may not leave when the change needs a fresh stamp, or was given
    /// one.
    ///
    /// - Parameters:
    ///   - lease: That of the ring.
    ///   - activity: How it stood when the worker looked.
    ///   - change: What the walk sends.
    ///   - wakes: How often the segment had been given work when the worker looked.
    ///   - isFirst: A change newer than the one that the walk has just turned to stops it only if it is the end.
    ///   - seekingDue: Whether cards that are due by now count as other work.
    /// - Returns: The statement.
    package static func selection(
        _ lease: SegmentLease,
        with activity: ActivitySnapshot,
        _ change: ChangeToSend,
        wakes: Int64,
        isFirst: Bool,
        seekingDue: Bool
    ) -> Query {
        """
        SELECT (a.revision = \(activity.newest) OR (\(isFirst) AND a.state = 'live'))
                   AND c.timestamp = \(change.timestamp)
                   AND \(unescaped: ChangeStore.isInOrder)
                   AND clock_timestamp() - c.stamped_at <= \(Duration.seconds(Stamping.maximumAge))
                   AND (\(activity.isProbe) OR \(unescaped: SegmentStore.isNotHalted)),
               s.wakes <> \(wakes) OR (\(seekingDue) AND \(unescaped: DueCards.exist))
        FROM segments AS s JOIN activities AS a USING (activity_key)
        JOIN changes AS c ON c.activity_key = s.activity_key AND c.revision = \(change.revision)
        WHERE \(part: SegmentRows.isRunning(lease, as: "s"))
        """
    }

    /// - Throws: ``LeaseLost``.
    package init(_ rows: Rows) throws {
        guard let row = rows.first else { throw LeaseLost() }
        mayGoOn = try row.decode(at: 0)
        hasOtherWork = try row.decode(at: 1)
    }
}
