import ActivityModel
import Postgres
import Store

/// The right to sweep the channels of one app in one environment, for a while.
struct ChannelSweepLease: Sendable {
    let app: BundleID
    let environment: APNSEnvironment
    /// This sweep, not the daemon.
    let owner: String
}

/// The rows of `channel_sweeps`: only one deployment may sweep the channels of an app in an environment (promise 11).
struct ChannelSweepStore: Sendable {
    let database: Database

    /// Longer than any call of Apple's channel API lasts: the lease is renewed before each.
    static let lease = Duration.seconds(30)
    /// How often the channels of an app are compared with Apple's list unasked.
    static let reconcileInterval = Duration.seconds(3600)
    private static let batchSize = 4

    /// Leases what is due: a pool that is not full, or a comparison that is an hour old. An app that has no channels,
    /// and wants none, is left alone: it may not have Apple's capability for them.
    func claimDue() async throws -> [ChannelSweepLease] {
        let results = try await database.pipeline([
            """
            INSERT INTO channel_sweeps (bundle_id, environment)
            SELECT k.bundle_id, k.environment FROM signing_keys AS k JOIN apps AS p USING (bundle_id)
            WHERE NOT EXISTS (SELECT FROM channel_sweeps AS s WHERE (s.bundle_id, s.environment) = (k.bundle_id, k.environment))
              AND (p.channel_pool > 0 OR EXISTS (
                  SELECT FROM channels AS c WHERE c.bundle_id = k.bundle_id AND c.environment = k.environment OFFSET 0))
            ON CONFLICT DO NOTHING
            """,
            """
            WITH due AS MATERIALIZED (
                SELECT s.bundle_id, s.environment FROM channel_sweeps AS s
                WHERE s.due_at <= now() AND (s.lease_until IS NULL OR s.lease_until < now())
                  AND (s.reconciled_at IS NULL OR s.reconciled_at < now() - \(Self.reconcileInterval) OR EXISTS (
                      SELECT FROM channel_pools AS pool
                      WHERE pool.bundle_id = s.bundle_id AND pool.environment = s.environment AND pool.unused < pool.wanted))
                ORDER BY s.due_at LIMIT \(Self.batchSize) FOR NO KEY UPDATE OF s SKIP LOCKED
            )
            UPDATE channel_sweeps AS s
            SET lease_owner = gen_random_uuid(), lease_until = clock_timestamp() + \(Self.lease)
            FROM due WHERE s.bundle_id = due.bundle_id AND s.environment = due.environment
            RETURNING s.bundle_id, s.environment::text, s.lease_owner::text
            """,
        ])
        return try results[1].decoded(as: (String, String, String).self).map { app, environment, owner in
            ChannelSweepLease(app: BundleID(stored: app), environment: try .stored(environment), owner: owner)
        }
    }

    /// Leases one, whether it is due or not; nil while another sweep of it runs. `record` is committed with the lease.
    func claim(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        record: [Query]
    ) async throws -> ChannelSweepLease? {
        try await database.withTransaction { connection in
            let rows = try await connection.query(Self.claim(app, environment))
            guard let owner = try rows.single(String.self) else { return nil }
            if !record.isEmpty { _ = try await connection.pipeline(record) }
            return ChannelSweepLease(app: app, environment: environment, owner: owner)
        }
    }

    private static func claim(_ app: BundleID, _ environment: APNSEnvironment) -> Query {
        """
        INSERT INTO channel_sweeps AS s (bundle_id, environment, lease_owner, lease_until)
        VALUES (\(app.rawValue), \(environment.rawValue)::apns_environment, gen_random_uuid(),
                clock_timestamp() + \(Self.lease))
        ON CONFLICT (bundle_id, environment) DO UPDATE
        SET lease_owner = EXCLUDED.lease_owner, lease_until = EXCLUDED.lease_until
        WHERE s.lease_until IS NULL OR s.lease_until < clock_timestamp()
        RETURNING lease_owner::text
        """
    }

    /// Prolongs a lease.
    ///
    /// - Throws: ``LeaseLost``; then nothing more may be asked of Apple.
    func renew(_ lease: ChannelSweepLease) async throws {
        let renewed = try await database.execute(
            """
            UPDATE channel_sweeps SET lease_until = clock_timestamp() + \(Self.lease)
            WHERE bundle_id = \(lease.app.rawValue) AND environment = \(lease.environment.rawValue)::apns_environment
              AND lease_owner = \(lease.owner)::uuid AND lease_until > clock_timestamp()
            """
        )
        if renewed == 0 { throw LeaseLost() }
    }

    /// The statement that records how many channels Apple has, and tells how many it had before.
    func record(atApple count: Int, under lease: ChannelSweepLease) -> Query {
        """
        UPDATE channel_sweeps AS s SET reconciled_at = now(), at_apple = \(Int32(clamping: count))
        FROM channel_sweeps AS before
        WHERE s.bundle_id = \(lease.app.rawValue) AND s.environment = \(lease.environment.rawValue)::apns_environment
          AND s.lease_owner = \(lease.owner)::uuid AND (before.bundle_id, before.environment) = (s.bundle_id, s.environment)
        RETURNING before.at_apple
        """
    }

    /// Gives the lease back. After a failure the next sweep waits, twice as long after each, at most 10 minutes.
    func release(_ lease: ChannelSweepLease, hasFailed: Bool) async throws {
        _ = try await database.execute(
            """
            UPDATE channel_sweeps
            SET lease_owner = NULL, lease_until = NULL,
                failures = CASE WHEN \(hasFailed) THEN least(failures + 1, 1000) ELSE 0 END,
                due_at = clock_timestamp() + CASE WHEN \(hasFailed)
                    THEN \(unescaped: ChannelRows.backOff) ELSE interval '0' END
            WHERE bundle_id = \(lease.app.rawValue) AND environment = \(lease.environment.rawValue)::apns_environment
              AND lease_owner = \(lease.owner)::uuid
            """
        )
    }

    /// Whether the last comparison is so old that another is due.
    func isReconcileDue(_ lease: ChannelSweepLease) async throws -> Bool {
        let rows = try await database.query(
            """
            SELECT reconciled_at IS NULL OR reconciled_at < clock_timestamp() - \(Self.reconcileInterval) FROM channel_sweeps
            WHERE bundle_id = \(lease.app.rawValue) AND environment = \(lease.environment.rawValue)::apns_environment
            """
        )
        return try rows.single(Bool.self) ?? false
    }
}
