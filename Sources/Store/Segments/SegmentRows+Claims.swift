package import FoundationEssentials
package import Postgres

// Leasing segments that are due.
extension SegmentRows {
    /// Who leases segments, and for how long.
    package struct Claimant: Sendable {
        /// Identifies the leases of a daemon.
        let daemon: UUID
        /// How long a claim or a sign of life lasts.
        let lease: Duration
        /// How long a daemon that carries half of an activity's rings leaves another ring of it to others.
        let patience: Duration

        package init(daemon: UUID, lease: Duration, patience: Duration) {
            self.daemon = daemon
            self.lease = lease
            self.patience = patience
        }

        /// An SQL condition: nobody has leased the segment `s`, or its lease has run out. One that would last for much
        /// longer than any daemon asks for was made before the database's clock was set back, by whoever may be gone.
        fileprivate func isFree(_ s: String) -> String {
            let most = Int(lease * 2 / .milliseconds(1))
            return """
                (\(s).lease_until IS NULL OR \(s).lease_until < now()
                    OR \(s).lease_until > clock_timestamp() + interval '\(most) milliseconds')
                """
        }
    }

    /// The statement that leases due segments, the longest due first. That is at most `limit` channels and first rings
    /// of activities, and one further ring if the daemon `takesFurtherRing`. Its rows have the columns of a
    /// ``SegmentLease``.
    ///
    /// If an activity has several rings, a daemon takes half of them, and leaves the others to other daemons as long as
    /// those may come.
    package static func claim(_ limit: Int, takesFurtherRing: Bool, for claimant: Claimant) -> Query {
        """
        WITH due AS MATERIALIZED (
            SELECT activity_key, segment FROM segments
            WHERE segment <= 0 AND due_at <= now() AND \(unescaped: claimant.isFree("segments"))
            ORDER BY due_at LIMIT \(limit)
            FOR NO KEY UPDATE SKIP LOCKED
        ), further AS MATERIALIZED (
            SELECT activity_key, segment FROM segments AS s
            WHERE segment > 0 AND due_at <= now() AND \(unescaped: claimant.isFree("s")) AND (
                s.due_at < now() - \(claimant.patience) OR (
                    SELECT 2 * count(*) FILTER (
                            WHERE (o.lease_daemon = \(claimant.daemon) AND NOT \(unescaped: claimant.isFree("o")))
                               OR (o.segment = 0 AND o.due_at <= now() AND \(unescaped: claimant.isFree("o")))
                        ) < count(*)
                    FROM segments AS o WHERE o.activity_key = s.activity_key AND o.segment >= 0
                )
            )
            ORDER BY due_at, activity_key, segment LIMIT \(takesFurtherRing ? 1 : 0)
            FOR NO KEY UPDATE OF s SKIP LOCKED
        )
        UPDATE segments AS s
        SET lease_owner = gen_random_uuid(), lease_daemon = \(claimant.daemon),
            lease_until = clock_timestamp() + \(claimant.lease), retry_at = NULL
        FROM (TABLE due UNION ALL TABLE further) AS due
        WHERE s.activity_key = due.activity_key AND s.segment = due.segment
          AND s.activity_key = ANY (ARRAY(SELECT activity_key FROM due UNION ALL SELECT activity_key FROM further))
        RETURNING s.activity_key, s.segment, s.lease_owner::text
        """
    }
}
