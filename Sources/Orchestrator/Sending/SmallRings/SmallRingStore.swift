import ActivityModel
import Postgres

extension SegmentStore {
    /// Looks which of the leased segments are small rings.
    func smallRings(among leases: [SegmentLease]) async throws -> [SmallRing] {
        guard !leases.isEmpty else { return [] }
        let selection = SmallRing.selection(leases.map(\.activityKey), of: daemon)
        guard let rows = try await database.pipeline([.planningOnce, selection]).last else { return [] }
        return try SmallRing.read(leases, rows)
    }

    /// Ends the leases of small rings whose pushes were all accepted, and stores what they have come to: the walk, what was
    /// merged, the priority and why. As ``acknowledge(_:_:hasFailed:hasSent:with:)`` and ``rest(_:wakesSeen:hold:)`` in one.
    ///
    /// One that was given work meanwhile is due at once. Nothing is stored of one whose lease is lost.
    ///
    /// - Returns: Whether some are due now.
    func complete(_ rings: [SmallRing]) async throws -> Bool {
        // In the order in which everybody locks segments.
        let rings = rings.sorted { $0.lease.activityKey < $1.lease.activityKey }
        let statement: Query = """
            WITH mine AS MATERIALIZED (
                SELECT s.activity_key, u.begun, u.revision, u.wakes, u.ordinary, u.frequent, u.decided_at
                FROM segments AS s JOIN unnest(
                    \(rings.map(\.lease.activityKey)), \(rings.map(\.lease.owner)), \(rings.map(\.begun)),
                    \(rings.map(\.change.revision)), \(rings.map(\.wakes)),
                    \(rings.map { $0.budgetClasses.contains(.ordinary) }),
                    \(rings.map { $0.budgetClasses.contains(.frequent) }), \(rings.map(\.change.readAt))
                ) AS u(activity_key, owner, begun, revision, wakes, ordinary, frequent,
                       decided_at)
                    ON s.activity_key = u.activity_key AND s.segment = 0 AND s.lease_owner = u.owner::uuid
                ORDER BY s.activity_key FOR NO KEY UPDATE OF s
            ), merged AS (
                UPDATE changes AS c SET merged_into = mine.revision FROM mine
                WHERE c.activity_key = mine.activity_key AND c.revision > mine.begun AND c.revision < mine.revision
                  AND c.merged_into IS NULL
                RETURNING c.activity_key, c.revision, c.merged_into
            ), told AS (
                \(unescaped: EventRows.merge(from: "merged"))
            ), decided AS (
                \(unescaped: Self.decision(on: "mine"))
            )
            UPDATE segments AS s
            SET completed_revision = mine.revision, failures = 0, pushed_at = clock_timestamp(),
                lease_owner = NULL, lease_until = NULL,
                due_at = CASE WHEN s.wakes = mine.wakes
                    THEN (SELECT \(unescaped: Self.nextOfRing) FROM activities AS a WHERE a.activity_key = s.activity_key)
                    ELSE clock_timestamp() END
            FROM mine WHERE s.activity_key = mine.activity_key AND s.segment = 0
            RETURNING coalesce(s.due_at <= clock_timestamp(), false)
            """
        let rows = try await database.pipeline([.planningOnce, statement]).last
        return try rows?.decoded(as: Bool.self).contains(true) == true
    }

    /// The statement that puts on record with which priority a small ring was sent its change, and why.
    static func decision(of ring: SmallRing) -> Query {
        """
        WITH mine AS (
            SELECT \(ring.lease.activityKey) AS activity_key, \(ring.change.revision) AS revision,
                   \(ring.budgetClasses.contains(.ordinary)) AS ordinary,
                   \(ring.budgetClasses.contains(.frequent)) AS frequent, \(ring.change.readAt) AS decided_at
        )
        \(unescaped: Self.decision(on: "mine"))
        """
    }

    /// The same for the rings that a table tells of. All of it are constants.
    private static func decision(on table: String) -> String {
        """
        INSERT INTO budget_ledger (activity_key, class, revision, priority, reason, explanation, decided_at)
        SELECT r.activity_key, k.class::budget_class, r.revision, \(SmallRing.decision.priority.rawValue),
               '\(SmallRing.decision.reason.rawValue)', '\(SmallRing.decision.text)', r.decided_at
        FROM \(table) AS r
        CROSS JOIN LATERAL (VALUES ('ordinary', r.ordinary), ('frequent', r.frequent)) AS k(class, is_reached)
        WHERE k.is_reached
        ON CONFLICT (activity_key, class, revision) DO NOTHING
        """
    }

    /// Prolongs leases that hold still.
    func renew(_ leases: [SegmentLease]) async throws {
        try await set(leases, to: lease)
    }

    /// Gives leases back at once, for whoever is free.
    func release(_ leases: [SegmentLease]) async throws {
        try await set(leases, to: nil)
    }

    /// Lets leases last so long from now on; nil ends them.
    private func set(_ leases: [SegmentLease], to time: Duration?) async throws {
        guard !leases.isEmpty else { return }
        let leases = leases.sorted { ($0.activityKey, $0.segment) < ($1.activityKey, $1.segment) }
        _ = try await database.execute(
            """
            WITH mine AS MATERIALIZED (
                SELECT s.activity_key, s.segment
                FROM segments AS s JOIN unnest(
                    \(leases.map(\.activityKey)), \(leases.map(\.segment)), \(leases.map(\.owner))
                ) AS u(activity_key, segment, owner)
                    ON s.activity_key = u.activity_key AND s.segment = u.segment AND s.lease_owner = u.owner::uuid
                WHERE s.lease_until > clock_timestamp()
                ORDER BY s.activity_key, s.segment FOR NO KEY UPDATE OF s
            )
            UPDATE segments AS s
            SET lease_owner = CASE WHEN l.until IS NOT NULL THEN s.lease_owner END, lease_until = l.until
            FROM mine CROSS JOIN (SELECT clock_timestamp() + \(time)::interval AS until) AS l
            WHERE s.activity_key = mine.activity_key AND s.segment = mine.segment
            """
        )
    }
}
