import ActivityModel
import Postgres

/// A ring at rest that nobody rides: a new change has passed it the moment it is accepted.
///
/// Most activities are such for a while: nobody follows the match yet, or everybody listens to its channel. To lease,
/// walk and complete their rings would cost more than all the rest of their changes.
///
/// A card that is owed a push is on the ring (`riding`) or due. Two things put a card on the ring: a worker with the
/// lease, and the transaction of a report (``Boarding``). Both raise ``SegmentProgress/wakes``. If it is unchanged since
/// the look, nobody has come. ``CatchUpTurn`` sends the newest revision to cards that register meanwhile.
package enum EmptyRing {
    /// An SQL condition: the segment `g` of the activity `a` is a ring at rest.
    package static let isAtRest = """
        g.segment >= 0 AND g.due_at IS NULL AND g.lease_owner IS NULL AND g.lap_revision IS NULL
            AND g.completed_revision = a.revision
        """

    /// An SQL condition: nobody rides on the rings of the activity `a`, nor is about to.
    package static let isUnridden = """
        a.state = 'live' AND NOT a.enrolment_due
            AND \(hasNo("mode = 'token' AND d.state = 'riding'", orderedBy: "device_key"))
            AND \(hasNo("mode = 'token' AND d.state = 'due'", orderedBy: "mode, due_at"))
            AND NOT EXISTS (SELECT FROM activity_app_versions AS v WHERE v.activity_key = a.activity_key AND NOT v.is_settled)
        """

    /// An SQL condition: the activity `a` has no card of that kind; `order` is that of the index which tells.
    ///
    /// Looks at one entry of the index, the first from the activity on. In a condition on the activity alone, the
    /// planner would expect to find one soon. If a large activity has nearly all cards of the database, it would read
    /// the whole table.
    ///
    /// It does not look beyond the activity, either. Behind it may be the entries of a million cards that a large
    /// activity has just moved. They are skipped one by one until the table is vacuumed.
    static func hasNo(_ kind: String, orderedBy order: String) -> String {
        """
        (SELECT d.activity_key FROM subscriptions AS d
         WHERE d.activity_key >= a.activity_key AND d.activity_key <= a.activity_key AND d.\(kind)
         ORDER BY d.activity_key, \(order) LIMIT 1) IS DISTINCT FROM a.activity_key
        """
    }
}
