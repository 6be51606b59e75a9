import ActivityModel
import Postgres

/// The rows of `segments`: claiming, walking on, going to rest.
///
/// Every statement that a worker runs names its lease, so a daemon that was paused past its lease changes nothing.
struct SegmentStore: Sendable {
    let database: Database
    /// How long a claim or a sign of life lasts.
    let lease: Duration

    /// Leases segments that are due, the longest due first.
    ///
    /// - Parameter limit: At most so many.
    func claim(limit: Int) async throws -> [SegmentLease] {
        let rows = try await self.database.query(
            """
            UPDATE segments AS s
            SET lease_owner = gen_random_uuid(),
                lease_until = clock_timestamp() + \(self.lease)
            FROM (
                SELECT activity_key, segment FROM segments
                WHERE due_at <= clock_timestamp() AND (lease_until IS NULL OR lease_until < clock_timestamp())
                ORDER BY due_at LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS due
            WHERE s.activity_key = due.activity_key AND s.segment = due.segment
            RETURNING s.activity_key, s.segment, s.lease_owner::text
            """
        )
        return try rows.decoded(as: (Int64, Int16, String).self).map { SegmentLease(activityKey: $0, segment: $1, owner: $2) }
    }

    /// Reads the segment and prolongs the lease.
    ///
    /// - Throws: ``LeaseLost`` if the lease is another's or has run out.
    func renew(_ lease: SegmentLease) async throws -> SegmentProgress {
        let rows = try await self.database.query(
            """
            UPDATE segments SET lease_until = clock_timestamp() + \(self.lease)
            WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
              AND lease_owner = \(lease.owner)::uuid AND lease_until > clock_timestamp()
            RETURNING wakes, cursor, completed_revision, lap_revision, lap_origin, alert_revision, alert_origin, failures
            """
        )
        for (wakes, cursor, completed, lap, lapOrigin, alert, alertOrigin, failures) in try rows.decoded(
            as: (Int64, Int64, Int64, Int64?, Int64?, Int64?, Int64?, Int16).self
        ) {
            return SegmentProgress(
                wakes: wakes,
                carousel: Carousel(
                    cursor: cursor,
                    completed: completed,
                    lap: Self.lap(lap, from: lapOrigin),
                    alert: Self.lap(alert, from: alertOrigin)
                ),
                failures: Int(failures)
            )
        }
        throw LeaseLost()
    }

    private static func lap(_ revision: Int64?, from origin: Int64?) -> Carousel.Lap? {
        guard let revision, let origin else { return nil }
        return Carousel.Lap(revision: revision, origin: origin)
    }

    /// Stores how far the walk has come, together with what else came of a batch.
    ///
    /// - Throws: ``LeaseLost``; then nothing of it is stored.
    func acknowledge(_ lease: SegmentLease, _ carousel: Carousel, with statements: [Query]) async throws {
        try await self.database.withTransaction { connection in
            let results = try await connection.pipeline(statements + [self.acknowledgement(lease, carousel)])
            guard results.last?.isEmpty == false else { throw LeaseLost() }
        }
    }

    private func acknowledgement(_ lease: SegmentLease, _ carousel: Carousel) -> Query {
        """
        UPDATE segments
        SET cursor = \(carousel.cursor), completed_revision = \(carousel.completed),
            lap_revision = \(carousel.lap?.revision), lap_origin = \(carousel.lap?.origin),
            alert_revision = \(carousel.alert?.revision), alert_origin = \(carousel.alert?.origin),
            failures = 0, lease_until = clock_timestamp() + \(self.lease)
        WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
          AND lease_owner = \(lease.owner)::uuid
        RETURNING 1
        """
    }

    /// Ends the lease until there is work again.
    ///
    /// - Parameters:
    ///   - wakesSeen: ``SegmentProgress/wakes`` as it was before the worker looked for work and found none.
    /// - Returns: False if the segment was given work meanwhile (the lease goes on) or the lease is lost.
    func rest(_ lease: SegmentLease, wakesSeen: Int64) async throws -> Bool {
        let rested = try await self.database.execute(
            """
            UPDATE segments AS s SET lease_owner = NULL, lease_until = NULL, due_at = CASE
                WHEN \(lease.isChannel) THEN
                    (SELECT min(due_at) FROM subscriptions
                     WHERE activity_key = s.activity_key AND mode = 'channel' AND state = 'due')
                ELSE least(
                    (SELECT min(due_at) FROM subscriptions
                     WHERE activity_key = s.activity_key AND mode = 'token' AND state = 'due'),
                    (SELECT min(due_at) FROM starts WHERE activity_key = s.activity_key
                     AND state IN ('pending', 'claimed', 'unknown') AND due_at IS NOT NULL)
                ) END
            WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
              AND lease_owner = \(lease.owner)::uuid AND wakes = \(wakesSeen)
            """
        )
        return rested > 0
    }

    /// Ends the lease for a while after a failure of the segment as a whole.
    func backOff(_ lease: SegmentLease, for delay: Duration) async throws {
        _ = try await self.database.execute(
            """
            UPDATE segments
            SET lease_owner = NULL, lease_until = NULL, failures = least(failures + 1, 1000),
                due_at = clock_timestamp() + \(delay)
            WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
              AND lease_owner = \(lease.owner)::uuid
            """
        )
    }

    /// Gives the lease back at once, for another daemon to go on.
    func release(_ lease: SegmentLease) async throws {
        _ = try await self.database.execute(
            """
            UPDATE segments SET lease_owner = NULL, lease_until = NULL
            WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
              AND lease_owner = \(lease.owner)::uuid
            """
        )
    }

    /// The statement that gives segments work that is due now; for the transaction that makes the work.
    static func wake(activityKeys: [Int64], segments: WakeTarget = .all) -> Query {
        """
        UPDATE segments SET due_at = least(due_at, clock_timestamp()), wakes = wakes + 1
        WHERE activity_key = ANY(\(activityKeys)) AND (\(segments == .all) OR segment >= 0)
        """
    }

    /// Which segments of an activity are woken.
    enum WakeTarget: Sendable {
        case all
        /// The rings only: work that concerns tokens.
        case rings
    }
}
