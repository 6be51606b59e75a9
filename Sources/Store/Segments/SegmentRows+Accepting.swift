package import FoundationEssentials
package import Postgres

// Segments of new activities, and of activities with an accepted change.
extension SegmentRows {
    // MARK: New activities

    /// The statement that inserts the first rings of new activities. Nobody needs an update to the start itself, so the
    /// walk begins after it. `areDue`: which of them have work.
    package static func insertion(ofFirstRings activityKeys: [Int64], areDue: [Bool]) -> Query {
        """
        INSERT INTO segments (activity_key, segment, completed_revision, due_at)
        SELECT u.activity_key, \(firstRing), 1, CASE WHEN u.is_due THEN clock_timestamp() END
        FROM \(rows: [
            .each("activity_key", activityKeys),
            .each("is_due", areDue),
        ]) AS u
        """
    }

    /// The statement that inserts the segments of the channels of new activities. One whose channel is still to be made
    /// is due, unless its activity waits for its time. The daemon leases some of them at once, which saves a worker the
    /// search.
    ///
    /// - Parameters:
    ///   - activityKeys: The activities.
    ///   - areLive: Which do not wait for their time.
    ///   - areLeasable: Which may be leased.
    ///   - mayBeMade: An SQL condition: Apple may be asked for the channel `a` now.
    ///   - daemon: Who leases.
    ///   - lease: How long a lease lasts.
    /// - Returns: The statement. Its rows are the key of each activity, the owner of its lease or null, and whether it
    ///   is due.
    package static func insertion(
        ofChannels activityKeys: [Int64],
        areLive: [Bool],
        areLeasable: [Bool],
        mayBeMade: String,
        for daemon: UUID,
        lease: Duration
    ) -> Query {
        """
        INSERT INTO segments (activity_key, segment, completed_revision, due_at, lease_owner, lease_daemon, lease_until)
        SELECT w.activity_key, \(channelSegment), 1, CASE WHEN w.is_due THEN w.now END,
               CASE WHEN w.is_leased THEN gen_random_uuid() END, CASE WHEN w.is_leased THEN \(daemon) END,
               CASE WHEN w.is_leased THEN w.now + \(lease) END
        FROM (
            SELECT u.activity_key, u.is_live AND n.is_wanted AS is_due,
                   u.is_leasable AND n.is_wanted AND n.may_be_made AS is_leased, clock_timestamp() AS now
            FROM \(rows: [
                .each("activity_key", activityKeys),
                .usually(true, "is_live", areLive),
                .each("is_leasable", areLeasable),
            ]) AS u
            CROSS JOIN LATERAL (
                SELECT a.state = 'creating' AS is_wanted, \(unescaped: mayBeMade) AS may_be_made
                FROM channels AS a WHERE a.activity_key = u.activity_key AND \(unescaped: ChannelStanding.serves("a"))
                OFFSET 0
            ) AS n
        ) AS w
        RETURNING activity_key, lease_owner::text, due_at IS NOT NULL
        """
    }

    /// A part of a statement: it takes segments past the newest of the changes that were accepted before their
    /// activities began. `activities` has their `activity_key` and their newest `revision`.
    package static func skipChanges(from activities: String) -> String {
        """
        UPDATE segments AS g SET completed_revision = \(activities).revision FROM \(activities)
        WHERE g.activity_key = \(activities).activity_key AND g.completed_revision < \(activities).revision
        """
    }

    // MARK: Accepted changes

    /// The statement that gives segments the work of accepted changes: as ``wake(activityKeys:segments:)``. Rows are
    /// locked in their order, because the loop over them is the outer one (``Query/planningOnce``).
    ///
    /// - Parameters:
    ///   - shares: The columns `place`, `activity_key`, `segment`; `empty_since`, the `wakes` of a ring that was empty:
    ///     if it is still empty, it is moved past the revision instead of being woken; `revision`, the newest; `is_end`:
    ///     it cuts the pause after a failure short; and `is_leasable`.
    ///   - daemon: Who leases.
    ///   - lease: How long a lease lasts.
    /// - Returns: The statement. Its rows are `place`, the owner of the lease if this statement has taken it, whether
    ///   the segment is due, and its `wakes`.
    package static func accept(_ shares: [RowColumn], for daemon: UUID, lease: Duration) -> Query {
        """
        UPDATE segments AS s
        SET completed_revision = CASE WHEN \(unescaped: isEmpty) THEN w.revision ELSE s.completed_revision END,
            unsent_after = CASE WHEN NOT \(unescaped: isEmpty) THEN s.unsent_after END,
            due_at = CASE WHEN \(unescaped: isEmpty) THEN s.due_at WHEN w.is_end THEN least(s.due_at, w.now)
                ELSE \(unescaped: dueNow("s", now: "w.now")) END,
            retry_at = CASE WHEN NOT w.is_end AND NOT \(unescaped: isTaken) THEN s.retry_at END,
            wakes = CASE WHEN \(unescaped: isEmpty) THEN s.wakes ELSE s.wakes + 1 END,
            lease_owner = CASE WHEN \(unescaped: isTaken) THEN w.owner ELSE s.lease_owner END,
            lease_daemon = CASE WHEN \(unescaped: isTaken) THEN \(daemon) ELSE s.lease_daemon END,
            lease_until = CASE WHEN \(unescaped: isTaken) THEN w.now + \(lease) ELSE s.lease_until END
        FROM (
            SELECT r.*, CASE WHEN r.is_leasable THEN gen_random_uuid() END AS owner, clock_timestamp() AS now
            FROM \(rows: shares) AS r
        ) AS w
        WHERE \(unescaped: Query.byKey("s", "w", "activity_key", "segment"))
        RETURNING w.place, CASE WHEN s.lease_owner = w.owner THEN s.lease_owner::text END, s.due_at IS NOT NULL,
            s.wakes
        """
    }

    /// It was empty when it was looked at, and nothing has woken it since.
    private static let isEmpty = "s.wakes IS NOT DISTINCT FROM w.empty_since"
    private static let isTaken = """
        (w.owner IS NOT NULL AND s.lease_owner IS NULL AND (s.due_at IS NULL OR s.due_at <= w.now))
        """
}
