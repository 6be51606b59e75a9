package import APNSTransport
package import ActivityModel
import Cards
package import Postgres
package import Store

/// One row of `pushes` that was taken to be sent.
package struct QueuedPush: Sendable {
    package let key: Int64
    package let id: String
    package let apnsID: APNSRequestID
    package let app: BundleID
    package let environment: APNSEnvironment
    /// Whose own token it is; nil for a token that the caller gave.
    package let deviceKey: Int64?
    package let token: PushToken
    package let pushType: PushType
    let priority: PushPriority
    let expiration: Int64?
    let collapseID: String?
    package let body: [UInt8]
    /// Tries that came to nothing.
    package let failures: Int
    /// Why it fails and is not sent: its deadline has passed (`expired`), or APNs has rejected this token of its device
    /// since it was accepted (`token_rejected`). Nil: it is to be sent.
    package let lateRefusal: String?
    /// Set where sending is halted.
    package let halt: SendingHalt?

    /// Tells its destination from others when rejections are counted: the key of the device, or else a number of the
    /// token. That one is negative, which no key is, and another in every process.
    package var destinationKey: Int64 { deviceKey ?? (Int64(token.hashValue) | .min) }

    /// Where a halt stops it.
    package var scope: HaltScope { HaltScope(app: app, environment: environment) }

    /// Its headers, as APNs gets them.
    package var headers: PushHeaders {
        PushHeaders(
            bundleID: app,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID,
            requestID: apnsID
        )
    }

    /// How long a daemon keeps what it has taken: the outcome must be stored before another takes it for abandoned.
    package static func lease(_ settings: OrchestratorSettings) -> Duration { settings.pushDeadline + .seconds(5) }
}

extension QueuedPush {
    /// Takes pushes that are due in one environment for as long as `lease`, the longest due first. The result includes
    /// pushes that cannot leave, because sending is halted and no probe is due. Those are put off past the next probe,
    /// as ``SendingHalt/wait(jitter:)`` does, so that a crowd of them is seldom met. Whoever lifts the halt frees them
    /// (``freeing(_:afterLeaseOf:limit:)``). The pushes of silent apps are left as they are.
    ///
    /// The token of a device may have been rejected after the push was accepted (``lateRefusal``).
    package static func claim(
        _ limit: Int,
        in environment: APNSEnvironment,
        except silentApps: [BundleID] = [],
        for lease: Duration,
        from database: Database
    ) async throws -> [QueuedPush] {
        let query = claiming(limit, in: environment, except: silentApps, for: lease)
        return try await database.query(query).compactMap { try QueuedPush($0) }
    }

    private static func claiming(
        _ limit: Int,
        in environment: APNSEnvironment,
        except silentApps: [BundleID],
        for lease: Duration
    ) -> Query {
        let taken =
            silentApps.isEmpty
            ? oldest(limit, in: environment) : oldest(limit, in: environment, except: silentApps)
        return """
            WITH taken AS MATERIALIZED (
                \(part: taken)
            ), due AS MATERIALIZED (
                SELECT t.push_key, h.probes, h.probe_at - clock_timestamp() AS probe_in,
                       CASE WHEN t.deadline <= clock_timestamp() THEN 'expired'
                            WHEN own.is_rejected THEN 'token_rejected' END AS late_refusal
                FROM taken AS t LEFT JOIN sending_halts AS h USING (bundle_id, environment)
                LEFT JOIN LATERAL (
                    SELECT d.device_token = t.token AND d.environment = t.environment
                           AND \(unescaped: UsableToken.ofDevice) IS NULL AS is_rejected
                    FROM devices AS d WHERE d.device_key = t.device_key OFFSET 0
                ) AS own ON true
            )
            UPDATE pushes AS p
            SET due_at = clock_timestamp() + CASE
                WHEN due.late_refusal IS NULL AND due.probe_in > interval '0' THEN least(
                    least(greatest(due.probe_in, interval '1 second'), \(SendingHalt.longestWait)) * (1 + random()),
                    p.deadline - clock_timestamp()
                ) ELSE \(lease) END
            FROM due WHERE p.push_key = due.push_key AND p.push_key = ANY (ARRAY(SELECT push_key FROM due))
            RETURNING p.push_key, p.push_id::text, p.apns_id::text, p.bundle_id, p.environment::text, p.device_key, p.token,
                      p.push_type, p.priority, p.expiration, p.collapse_id, p.body, p.failures,
                      due.late_refusal, due.probes, due.probe_in
            """
    }

    /// Locks the pushes that are longest due.
    private static func oldest(_ limit: Int, in environment: APNSEnvironment) -> Query {
        """
        SELECT push_key, bundle_id, environment, device_key, token, deadline FROM pushes
        WHERE due_at <= now() AND environment = \(environment.rawValue)::apns_environment
        ORDER BY due_at LIMIT \(limit) FOR NO KEY UPDATE SKIP LOCKED
        """
    }

    /// Locks due pushes of other apps than the silent ones, without reading theirs. First comes the app with the push
    /// that is longest due. Only `pushes_by_app` has the order that the comparisons of rows ask for. So the server does
    /// not look for the pushes of one app among those of all.
    private static func oldest(_ limit: Int, in environment: APNSEnvironment, except silentApps: [BundleID]) -> Query {
        let due: Query = """
            (p.bundle_id, p.environment, p.due_at)
            BETWEEN (a.bundle_id, \(environment.rawValue)::apns_environment, timestamptz '-infinity')
                AND (a.bundle_id, \(environment.rawValue)::apns_environment, now())
            ORDER BY p.bundle_id, p.environment, p.due_at
            """
        return """
            SELECT p.push_key, p.bundle_id, p.environment, p.device_key, p.token, p.deadline
            FROM (
                SELECT a.bundle_id FROM apps AS a
                CROSS JOIN LATERAL (SELECT p.due_at FROM pushes AS p WHERE \(part: due) LIMIT 1) AS oldest
                WHERE a.bundle_id <> ALL (\(silentApps.map(\.rawValue)))
                ORDER BY oldest.due_at
            ) AS a CROSS JOIN LATERAL (
                SELECT p.push_key, p.bundle_id, p.environment, p.device_key, p.token, p.deadline FROM pushes AS p
                WHERE \(part: due) LIMIT \(limit) FOR NO KEY UPDATE SKIP LOCKED
            ) AS p
            LIMIT \(limit)
            """
    }

    /// Nil for values that CHECKs and the insertion keep out of the table.
    private init?(_ row: Row) throws {
        guard let token = PushToken(bytes: try row["token"]), let type = PushType(rawValue: try row["push_type"]),
            let priority = PushPriority(rawValue: try row["priority"])
        else { return nil }
        self.token = token
        self.priority = priority
        pushType = type
        key = try row["push_key"]
        id = try row["push_id"]
        apnsID = APNSRequestID(stored: try row["apns_id"])
        app = BundleID(stored: try row["bundle_id"])
        environment = try .stored(row["environment"])
        deviceKey = try row["device_key"]
        expiration = try row["expiration"]
        collapseID = try row["collapse_id"]
        body = try row["body"]
        failures = try row["failures"]
        lateRefusal = try row["late_refusal"]
        halt = try SendingHalt(row)
    }

    /// The statement that frees at most `limit` pushes that a halt has put off. A push that is due within a lease may
    /// be in some daemon's hands. So all are due after one lease at the latest.
    static func freeing(_ scope: HaltScope, afterLeaseOf lease: Duration, limit: Int) -> Query {
        """
        UPDATE pushes AS p SET due_at = clock_timestamp() + \(lease)
        FROM (
            SELECT push_key FROM pushes
            WHERE \(part: scope.contains("pushes"))
              AND due_at > clock_timestamp() + \(lease)
            LIMIT \(limit) FOR NO KEY UPDATE SKIP LOCKED
        ) AS held WHERE p.push_key = held.push_key
        """
    }
}
