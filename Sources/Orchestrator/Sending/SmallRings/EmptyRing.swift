import ActivityModel
import Postgres

/// A ring at rest that nobody rides: a new change has passed it the moment it is accepted.
///
/// Most activities are such for a while: nobody follows the match yet, or everybody listens to its channel. To lease,
/// walk and complete their rings would cost more than all the rest of their changes.
///
/// Whoever is to be sent something is on the ring (`riding`) or has a row that is due. Only a worker with the lease puts
/// somebody on the ring, and it had to be woken before; so if ``wakes`` has not moved between the look and the
/// statement that makes use of it, nobody has come. A registration that is committed meanwhile is served by its own row,
/// with the newest revision then (``CatchUpTurn``).
struct EmptyRing: Sendable {
    let activityKey: Int64
    let segment: Int16
    /// ``SegmentProgress/wakes`` when it was looked at.
    let wakes: Int64

    /// SQL: the numbers and `wakes` of such rings of the activity `a`, as arrays; null without any.
    static let selection = """
        SELECT array_agg(g.segment) AS segments, array_agg(g.wakes) AS wakes FROM segments AS g
        WHERE g.activity_key = a.activity_key AND g.segment >= 0 AND a.state = 'live' AND NOT a.enrolment_due
          AND g.due_at IS NULL AND g.lease_owner IS NULL AND g.lap_revision IS NULL AND g.completed_revision = a.revision
          AND \(hasNo("state = 'riding'", orderedBy: "device_key"))
          AND \(hasNo("state = 'due'", orderedBy: "mode, due_at"))
          AND NOT EXISTS (SELECT FROM activity_app_versions AS v WHERE v.activity_key = a.activity_key AND NOT v.is_settled)
        """

    /// An SQL condition: the activity `a` has no card by token of that kind; `order` is that of the index which tells.
    ///
    /// Looks at one entry of the index, the first from the activity on. Asked for the activity's own the planner would expect
    /// that any has some, where a large one has nearly all of a database, and read the table until it finds one.
    private static func hasNo(_ kind: String, orderedBy order: String) -> String {
        """
        (SELECT d.activity_key FROM subscriptions AS d
         WHERE d.activity_key >= a.activity_key AND d.mode = 'token' AND d.\(kind)
         ORDER BY d.activity_key, \(order) LIMIT 1) IS DISTINCT FROM a.activity_key
        """
    }
}
