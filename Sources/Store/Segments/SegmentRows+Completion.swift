package import ActivityModel
package import Postgres

// Many segments at once whose whole work was one push or one channel. Callers pass them in the order of their
// activities.
extension SegmentRows {
    /// The statement that ends the leases of first rings whose walks have completed revisions. A ring that was given work
    /// since it had `wakes` is due at once. It returns the activities, and whether their rings are due.
    package static func completedRings(
        _ leases: [SegmentLease],
        _ revisions: [Revision],
        wakes: [Int64]
    ) -> Query {
        """
        UPDATE segments AS s
        SET completed_revision = u.revision, failures = 0, pushed_at = clock_timestamp(),
            lease_owner = NULL, lease_until = NULL,
            due_at = CASE WHEN s.wakes <> u.wakes THEN clock_timestamp() END
        FROM unnest(\(leases.map(\.activityKey)), \(leases.map(\.owner)), \(revisions), \(wakes))
            AS u(activity_key, owner, revision, wakes)
        WHERE \(unescaped: Query.byKey("s", "u", "activity_key")) AND s.segment = 0 AND s.lease_owner = u.owner::uuid
        RETURNING s.activity_key, s.due_at IS NOT NULL
        """
    }

    /// The statement that ends the leases of channels which have broadcast revisions. A channel that was given work since
    /// it had `wakes` is due at once. The others are due at `time`, an SQL expression about `s` and `u.revision`. It
    /// returns whether they are due now.
    package static func completedBroadcasts(
        _ leases: [SegmentLease],
        _ revisions: [Revision],
        wakes: [Int64],
        orAt time: String
    ) -> Query {
        """
        UPDATE segments AS s
        SET completed_revision = u.revision, failures = 0, pushed_at = clock_timestamp(),
            lease_owner = NULL, lease_until = NULL, retry_at = NULL,
            due_at = CASE WHEN s.wakes <> u.wakes THEN clock_timestamp()
                ELSE \(unescaped: time) END
        FROM unnest(\(leases.map(\.activityKey)), \(leases.map(\.owner)), \(revisions), \(wakes))
            AS u(activity_key, owner, revision, wakes)
        WHERE \(unescaped: Query.byKey("s", "u", "activity_key")) AND s.segment = \(channelSegment)
          AND s.lease_owner = u.owner::uuid
        RETURNING coalesce(s.due_at <= clock_timestamp(), false)
        """
    }

    /// The statement that wakes segments after Apple has made their channels. It wakes the first ring, which has the
    /// starts, unless no worker has leased it and the condition `hasNoStart` on the segment `s` holds. It also wakes
    /// the segment of a channel if another worker has leased it, because that worker may have looked before.
    package static func wake(channelsMade leases: [SegmentLease], unless hasNoStart: String) -> Query {
        let keys = leases.map(\.activityKey)
        return """
            UPDATE segments AS s SET due_at = \(unescaped: dueNow("s")), wakes = s.wakes + 1
            FROM unnest(\(keys), \(leases.map(\.owner))) AS a(activity_key, owner)
            WHERE \(unescaped: Query.byKey("s", "a", "activity_key")) AND s.activity_key = ANY(\(keys)) AND CASE s.segment
                WHEN \(firstRing)
                    THEN s.lease_owner IS NOT NULL OR NOT (\(unescaped: hasNoStart))
                WHEN \(channelSegment) THEN s.lease_owner IS DISTINCT FROM a.owner::uuid
                ELSE false END
            """
    }

    /// The statement that ends the leases of channels that Apple has made. A channel is due at once if it has something
    /// to broadcast, or was given work since it had `wakes`. The others are due at `time`, an SQL expression about `s`.
    /// It returns whether they are due now.
    package static func channelsMade(_ leases: [SegmentLease], wakes: [Int64], orAt time: String) -> Query {
        let keys = leases.map(\.activityKey)
        return """
            UPDATE segments AS s
            SET lease_owner = NULL, lease_until = NULL, failures = 0, retry_at = NULL,
                due_at = CASE WHEN s.wakes <> u.wakes OR s.completed_revision < (
                        SELECT a.revision FROM activities AS a WHERE a.activity_key = s.activity_key
                    ) THEN clock_timestamp() ELSE \(unescaped: time) END
            FROM unnest(\(keys), \(leases.map(\.owner)), \(wakes)) AS u(activity_key, owner, wakes)
            WHERE \(unescaped: Query.byKey("s", "u", "activity_key")) AND s.activity_key = ANY(\(keys))
              AND s.segment = \(channelSegment) AND s.lease_owner = u.owner::uuid
            RETURNING coalesce(s.due_at <= clock_timestamp(), false)
            """
    }
}
