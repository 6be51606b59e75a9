package import Postgres
package import Store

/// Puts cards that show the newest state on their ring, in the transaction that stores them, if nobody serves the ring.
/// That saves waking a worker for cards that are up to date.
///
/// Else only a worker with the lease puts somebody on a ring (``CatchUpTurn``): a walk may have come by the card
/// already when its transaction commits. Here the ring's row, held until then, takes the place of the lease. A
/// transaction that accepts a change, leases the ring or divides it changes that row, so it comes before or after:
/// - Before: the ring is due, leased or past the revision that the card shows, and the card is served by its own row.
/// - After: the card is among the riders that a worker reads. A change that was to pass an empty ring (``RestingSegment``) sees
///   that `wakes` has moved. It wakes the ring instead.
///
/// Nobody waits here for a row that is held. Leaves a due ring alone: a series of reports could otherwise keep workers
/// from leasing it.
package enum Boarding {
    /// The statement for cards that the transaction has stored, with rows that are due.
    package static func statement(_ cards: [CardKey]) -> Query {
        """
        WITH boarding AS MATERIALIZED (
            SELECT s.activity_key, s.device_key, g.segment
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            -- By the key alone: else the index of what is due may be read whole for each card.
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions AS d
                WHERE d.activity_key = r.activity_key AND d.device_key = r.device_key OFFSET 0
            ) AS s
            JOIN activities AS a ON a.activity_key = s.activity_key
            JOIN segments AS g ON \(unescaped: SegmentRows.isRing(of: "s"))
            WHERE \(unescaped: CardStanding.isServedApart("s")) AND NOT s.leaving AND a.state = 'live'
              AND least(s.known_revision, s.confirmed_revision) >= greatest(a.revision, g.completed_revision)
              AND g.lease_owner IS NULL AND (g.due_at IS NULL OR g.due_at > clock_timestamp())
            FOR NO KEY UPDATE OF g SKIP LOCKED
        ), riding AS (
            UPDATE subscriptions AS s SET state = 'riding', due_at = NULL, failures = 0, reason = NULL
            FROM boarding AS b WHERE \(unescaped: Query.byKey("s", "b", "activity_key", "device_key"))
        )
        \(unescaped: SegmentRows.boarding(of: "boarding"))
        """
    }
}
