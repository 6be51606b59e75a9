package import FoundationEssentials
package import Postgres

// Prolonging leases, and ending them before their time. A lost lease stays as it is.
extension SegmentRows {
    /// The condition that a row has the lease, even if its time is over. What was sent under it counts.
    package static func isHeld(_ lease: SegmentLease, as row: String = "segments") -> Query {
        """
        \(unescaped: row).activity_key = \(lease.activityKey) AND \(unescaped: row).segment = \(lease.segment)
        AND \(unescaped: row).lease_owner = \(lease.owner)::uuid
        """
    }

    /// The condition that a row has the lease, and that its time is not over. No other worker sends for the segment.
    package static func isRunning(_ lease: SegmentLease, as row: String = "segments") -> Query {
        "\(part: isHeld(lease, as: row)) AND \(unescaped: isLeased(row))"
    }

    /// The condition that some worker sends for the segment `s`.
    package static func isLeased(_ s: String) -> String { "\(s).lease_until > clock_timestamp()" }

    /// The condition that a worker of a daemon sends for the segment `s`.
    package static func isLeased(_ s: String, by daemon: UUID) -> Query {
        "(\(unescaped: s).lease_daemon = \(daemon) AND \(unescaped: isLeased(s)))"
    }

    /// The part of a statement that prolongs a lease to last as long as `time` from now. It leaves a fresh lease as it
    /// is, because a transaction without a write does not wait for the disk. The next owner of a lease that has run out
    /// holds its row, so only one of the two has it.
    package static func prolongation(_ lease: SegmentLease, by time: Duration) -> Query {
        """
        UPDATE segments SET lease_until = clock_timestamp() + \(time)
        WHERE \(part: isHeld(lease))
          AND (lease_until < clock_timestamp() + \(time * 2 / 3) OR lease_until > clock_timestamp() + \(time))
        RETURNING activity_key
        """
    }

    /// The statement that sets the remaining time of leases; nil ends them.
    package static func setRemainingTime(of leases: [SegmentLease], to time: Duration?) -> Query {
        let leases = leases.sorted { ($0.activityKey, $0.segment) < ($1.activityKey, $1.segment) }
        return """
            WITH mine AS MATERIALIZED (
                SELECT s.activity_key, s.segment
                FROM segments AS s JOIN unnest(
                    \(leases.map(\.activityKey)), \(leases.map(\.segment)), \(leases.map(\.owner))
                ) AS u(activity_key, segment, owner)
                    ON \(unescaped: Query.byKey("s", "u", "activity_key", "segment")) AND s.lease_owner = u.owner::uuid
                ORDER BY s.activity_key, s.segment FOR NO KEY UPDATE OF s
            )
            UPDATE segments AS s
            SET lease_owner = CASE WHEN l.until IS NOT NULL THEN s.lease_owner END, lease_until = l.until
            FROM mine CROSS JOIN (SELECT clock_timestamp() + \(time)::interval AS until) AS l
            WHERE \(unescaped: Query.byKey("s", "mine", "activity_key", "segment"))
            """
    }

    /// The statement that ends a lease. The segment `s` is due after a delay or at a time that is an SQL expression,
    /// whichever comes first. `failures` is an SQL expression, too. With `wakesSeen`, ends the lease only if the segment
    /// got no work since. With `isFailure`, the segment is not due before the delay is over.
    package static func ending(
        _ lease: SegmentLease,
        dueIn delay: Duration?,
        orAt time: String = "NULL",
        failures: String = "s.failures",
        isFailure: Bool = false,
        ifStill wakesSeen: Int64? = nil
    ) -> Query {
        """
        UPDATE segments AS s
        SET lease_owner = NULL, lease_until = NULL, failures = \(unescaped: failures),
            due_at = least(clock_timestamp() + \(delay)::interval, \(unescaped: time)),
            retry_at = CASE WHEN \(isFailure) THEN clock_timestamp() + \(delay)::interval END
        WHERE \(part: isHeld(lease, as: "s")) AND wakes = coalesce(\(wakesSeen), wakes)
        """
    }
}
