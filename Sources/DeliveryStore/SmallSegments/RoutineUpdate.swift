import APITypes
package import ActivityModel
package import Postgres
import Registry
package import Store

/// The newest change of a running activity, which is a routine one, with all that its push needs.
///
/// The accept of a change knows it already. ``PlainUpdate`` reads it for many activities in one statement.
///
/// A class, because it is large, and an accept passes it on.
package final class RoutineUpdate: Sendable {
    let activity: ActivitySnapshot
    let change: ChangeToSend

    /// Whether the change counts as sent once the first ring has completed it.
    package var isSentWithRing: Bool { change.isSentWithRing }

    /// `acceptedAt` is the moment when the change was accepted by this daemon's own clock: now, if it is being accepted.
    package init(
        of activity: ActivityNames,
        type: ActivityTypeName,
        delivery: Delivery,
        attributes: CompactJSON,
        policy: Policy,
        revision: Revision,
        contentState: CompactJSON,
        timestamp: Timestamp,
        hints: CardHints,
        acceptedAt: ContinuousClock.Instant = .now,
        readAt: PGTimestamp,
        origin: RequestOrigin?,
        isSentWithRing: Bool
    ) {
        self.activity = ActivitySnapshot(
            key: activity.key,
            bundleID: activity.app,
            activityID: activity.id,
            environment: activity.environment,
            typeName: type,
            delivery: delivery,
            state: .live,
            attributes: attributes,
            newest: revision,
            policy: policy
        )
        change = ChangeToSend(
            revision: revision,
            kind: .update,
            contentState: contentState,
            urgency: .routine,
            timestamp: timestamp,
            hints: hints,
            acceptedAt: acceptedAt,
            readAt: readAt,
            origin: origin,
            isSentWithRing: isSentWithRing
        )
    }

    /// The policies of types, read once for the rows of a statement.
    private typealias Policies = [RegistryCaches.TypeKey: Policy]

    /// The columns that the initializer reads first, in their order. They are of the activity `a`, its type `t` and its
    /// newest change `c`.
    static let columns = """
        a.activity_key, a.bundle_id, a.activity_id, a.environment::text, a.type_name, a.delivery::text,
        a.attributes::text, t.policy::text, a.revision, c.content_state::text, c.timestamp,
        clock_timestamp() - c.accepted_at, clock_timestamp(), c.request_id, c.traceparent, c.sent_with_ring,
        \(CardHints.columns)
        """
    /// How many ``columns`` there are.
    static let columnCount = 16 + CardHints.columnCount

    /// The tables of the ``columns`` for the segment `s`, which somebody else selects.
    static let tables = """
        -- Each by itself: else the planner may begin with a type and read all its activities, or read all changes of each
        -- activity to look for the newest among them.
        CROSS JOIN LATERAL (SELECT * FROM activities WHERE activity_key = s.activity_key OFFSET 0) AS a
        CROSS JOIN LATERAL (
            SELECT policy FROM activity_types WHERE bundle_id = a.bundle_id AND type_name = a.type_name OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT * FROM changes WHERE activity_key = a.activity_key AND revision = a.revision OFFSET 0
        ) AS c
        """

    /// An SQL condition: the segment `s` rests, and its only work is to send the newest change `c` under the stamp that
    /// it has. The changes that it jumps over need no more either.
    static let condition = """
        a.state = 'live' AND s.lap_revision IS NULL AND s.cursor = 0 AND s.unsent_after IS NULL
          AND a.revision > s.completed_revision AND \(ChangeStore.isInOrder)
          AND clock_timestamp() - c.stamped_at <= interval '\(Stamping.maximumAge) seconds'
          AND \(isStateAlone("c"))
          AND (a.revision = s.completed_revision + 1 OR NOT EXISTS (
              SELECT FROM changes AS n WHERE n.activity_key = a.activity_key AND n.revision > s.completed_revision
                AND n.revision < a.revision AND NOT \(isStateAlone("n"))
          ))
          AND \(SegmentStore.isNotHalted)
        """

    /// An SQL condition: nothing about a change asks for more than its state to be sent soon.
    static func isStateAlone(_ change: String) -> String {
        """
        (\(PriorityRule.isRoutine(change)) AND NOT \(change).must_deliver AND \(change).min_interval_seconds IS NULL)
        """
    }

    /// Reads rows that begin with the ``columns``. A row belongs to the lease whose owner it names at `ownerColumn`; others
    /// are left out.
    static func read<Work>(
        _ rows: Rows,
        of leases: [SegmentLease],
        ownerColumn: Int,
        _ make: (SegmentLease, RoutineUpdate, Row) throws -> Work?
    ) throws -> [Work] {
        let byOwner = Dictionary(leases.map { ($0.owner, $0) }) { first, _ in first }
        var policies = Policies()
        return try rows.compactMap { row in
            guard let lease = byOwner[try row.decode(at: ownerColumn)] else { return nil }
            return try make(lease, RoutineUpdate(row, &policies), row)
        }
    }

    private convenience init(_ row: Row, _ policies: inout Policies) throws {
        let bundleID = BundleID(stored: try row.decode(at: 1))
        let typeName = ActivityTypeName(stored: try row.decode(at: 4))
        let type = RegistryCaches.TypeKey(app: bundleID, name: typeName)
        let policy: Policy
        if let known = policies[type] {
            policy = known
        } else {
            policy = try Policy.stored(row.decode(String.self, at: 7))
            policies[type] = policy
        }
        self.init(
            of: ActivityNames(
                key: try row.decode(at: 0),
                app: bundleID,
                environment: try .stored(try row.decode(at: 3)),
                id: ActivityID(stored: try row.decode(at: 2))
            ),
            type: typeName,
            delivery: try .stored(try row.decode(at: 5)),
            attributes: CompactJSON(stored: Array(try row.decode(String.self, at: 6).utf8)),
            policy: policy,
            revision: try row.decode(at: 8),
            contentState: CompactJSON(stored: Array(try row.decode(String.self, at: 9).utf8)),
            timestamp: try row.decode(at: 10),
            hints: try CardHints(in: row, from: 16),
            acceptedAt: .now - (try row.decode(Duration.self, at: 11)),
            readAt: try row.decode(at: 12),
            origin: RequestOrigin(stored: try row.decode(at: 13), try row.decode(at: 14)),
            isSentWithRing: try row.decode(at: 15)
        )
    }
}
