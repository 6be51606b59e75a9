import APITypes
package import ActivityModel
import Cards
package import Postgres
package import Store

/// The facts about an activity that a worker reads before each batch.
package struct ActivitySnapshot: Sendable {
    package let key: Int64
    package let bundleID: BundleID
    package let activityID: ActivityID
    package let environment: APNSEnvironment
    package let typeName: ActivityTypeName
    package let delivery: Delivery
    package let state: ActivityState
    let attributes: CompactJSON
    /// The newest accepted revision.
    package let newest: Revision
    /// The oldest change after the begun one that every destination must be sent.
    var barrier: Revision?
    /// Whether the begun change is such a one: its lap is walked to the end before anything newer but the end.
    var isBarrierBegun = false
    package let policy: Policy
    /// How far the audience has been turned into starts; nil if there is nothing left of it.
    package var enrolment: AudienceStretch.Cursor?
    /// Whether it ended so long ago that no phone shows it any more.
    package var isPast = false
    /// How long routine changes are still held back, if nothing else has been accepted since the begun one: until the
    /// least of their intervals since the last push is over. Never for longer than that, whatever becomes of the clock.
    package var hold: Duration?
    /// The newest change after the begun one, and up to ``target``, that brought an alert.
    var newAlert: Revision?
    /// Whether starts are due; they are the first ring's.
    package var areStartsDue = false
    /// Whether cards of the ring are due that are served by their own rows.
    var areCardsDue = false
    /// Set while sending is halted for the app and environment.
    package var halt: SendingHalt?
    /// Whether the ring's cards of some app version are still to be taken off it, or brought back
    /// (``VersionSettlement``).
    package var areVersionsUnsettled = false
    /// Whether the activity has ended and cards of the ring still wait to begin, which are to be sent the end
    /// (``PendingCards``).
    package var hasPendingCards = false
    /// Whether only a few pushes may leave, to test whether sending may resume.
    package var isProbe = false

    /// How many destinations a batch may have that could have `size`.
    package func batch(_ size: Int) -> Int { isProbe ? min(size, SendingHalt.probeSize) : size }

    /// Whether there may be starts to send, or to make. The work of a probe becomes due only after the look.
    package var mayHaveStarts: Bool { areStartsDue || enrolment != nil || isProbe }

    /// Whether there may be cards to be served by their own rows.
    package var mayHaveCards: Bool { areCardsDue || isProbe }

    /// The revision that a walk has to turn to next. The end waits for nothing (promise 5).
    var target: Revision { state == .ended ? newest : barrier ?? newest }
}

extension ActivitySnapshot {
    /// The query whose rows ``read(_:_:)`` reads: an activity as a segment sees it. It skips changes up to the one that
    /// the segment has begun, and up to the revision `begun` if that is given.
    package static func selection(_ key: Int64, for segment: Int16, begun: Revision? = nil) -> Query {
        """
        SELECT a.bundle_id, a.activity_id, a.environment::text, a.type_name, a.delivery::text, a.state::text,
               a.attributes::text, a.revision, t.policy::text, barrier.revision AS barrier,
               EXISTS (SELECT FROM changes AS c
                WHERE c.activity_key = a.activity_key AND c.must_deliver AND c.revision = begun.revision)
                   AS is_barrier_begun,
               CASE WHEN a.enrolment_due THEN a.enrolled_members END AS enrolled_members,
               a.enrolled_devices, a.enrolled_rule, a.enrolled_follow,
               \(unescaped: CardLife.isPast("a")) AS is_past,
               h.probes, h.probe_at - clock_timestamp() AS probe_in,
               \(unescaped: HeldChange.until("s", behind: "begun.revision")) - clock_timestamp() AS hold,
               (SELECT max(c.revision) FROM changes AS c
                WHERE c.activity_key = a.activity_key AND c.alert IS NOT NULL AND c.revision > begun.revision
                  AND c.revision <= CASE WHEN a.state = 'ended' THEN a.revision ELSE coalesce(barrier.revision, a.revision) END)
                   AS new_alert,
               EXISTS (SELECT FROM activity_app_versions AS v WHERE v.activity_key = a.activity_key
                       AND \(part: CardVersions.isUnsettled("v", on: segment))) AS are_versions_unsettled,
               \(unescaped: areStartsDue) AS are_starts_due,
               \(unescaped: DueCards.exist) AS are_cards_due,
               CASE WHEN a.state = 'ended' THEN \(unescaped: PendingCards.exist) ELSE false END AS has_pending_cards
        FROM activities AS a JOIN activity_types AS t USING (bundle_id, type_name)
        JOIN segments AS s ON s.activity_key = a.activity_key AND s.segment = \(segment)
        CROSS JOIN LATERAL (SELECT coalesce(\(begun), s.lap_revision, s.completed_revision) AS revision) AS begun
        CROSS JOIN LATERAL (
            SELECT min(c.revision) AS revision FROM changes AS c
            WHERE c.activity_key = a.activity_key AND c.must_deliver AND c.revision > begun.revision
        ) AS barrier
        LEFT JOIN sending_halts AS h ON h.bundle_id = a.bundle_id AND h.environment = a.environment
        WHERE a.activity_key = \(key)
        """
    }

    /// An SQL expression: whether starts of the activity `a` are due. It asks for the first in time, not whether there is
    /// one: for that a plan from the time when there were few may read all starts of the activity.
    package static let areStartsDue = """
        coalesce((SELECT d.due_at <= now() FROM starts AS d
                  WHERE d.activity_key = a.activity_key AND d.due_at IS NOT NULL ORDER BY d.due_at LIMIT 1), false)
        """

    /// An SQL condition: no start of the activity `a` is to be sent, now or later. It asks for the first entry in the order of
    /// the index. With NOT EXISTS the planner may go through all starts that were sent.
    package static let hasNoStartToSend = """
        (SELECT d.due_at FROM starts AS d
         WHERE d.activity_key = a.activity_key AND d.due_at IS NOT NULL ORDER BY d.due_at LIMIT 1) IS NULL
        """

    /// Reads the row of a ``selection(_:for:begun:)``; nil if the activity was deleted.
    package static func read(_ key: Int64, _ rows: Rows) throws -> ActivitySnapshot? {
        try rows.first.map { try ActivitySnapshot(key: key, $0) }
    }

    private init(key: Int64, _ row: Row) throws {
        self.key = key
        bundleID = BundleID(stored: try row["bundle_id"])
        activityID = ActivityID(stored: try row["activity_id"])
        environment = try .stored(row["environment"])
        typeName = ActivityTypeName(stored: try row["type_name"])
        delivery = try .stored(row["delivery"])
        state = try .stored(row["state"])
        let attributes: String = try row["attributes"]
        self.attributes = CompactJSON(stored: Array(attributes.utf8))
        newest = try row["revision"]
        barrier = try row["barrier"]
        isBarrierBegun = try row["is_barrier_begun"]
        policy = try Policy.stored(row["policy"])
        let enrolledMembers: Int64? = try row["enrolled_members"]
        enrolment = try enrolledMembers.map { _ in try AudienceStretch.Cursor(row) }
        isPast = try row["is_past"]
        let hold: Duration? = try row["hold"]
        self.hold = hold.flatMap { $0 > .zero ? $0 : nil }
        newAlert = try row["new_alert"]
        areStartsDue = try row["are_starts_due"]
        areCardsDue = try row["are_cards_due"]
        halt = try SendingHalt(row)
        areVersionsUnsettled = try row["are_versions_unsettled"]
        hasPendingCards = try row["has_pending_cards"]
    }
}

extension ActivitySnapshot {
    /// The activity, as events and the timeline name it.
    package var names: ActivityNames {
        ActivityNames(key: key, app: bundleID, environment: environment, id: activityID)
    }
}
