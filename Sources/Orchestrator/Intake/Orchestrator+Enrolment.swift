import Postgres

extension Orchestrator {
    /// Turns the audience of an activity into starts that are due now.
    ///
    /// Runs after the commit that changed the audience: a device that registers at the same moment is either seen here
    /// or sees the audience in ``enrol(deviceKey:)``.
    func enrolAudience(of activityKey: Int64) async throws {
        // The erasure of a user locks devices before activities.
        _ = try await database.withYieldingTransaction { connection in
            try await connection.pipeline([
                "UPDATE activities SET enrolment_due = false WHERE activity_key = \(activityKey)",
                """
                INSERT INTO starts (activity_key, device_key, state, due_at)
                SELECT a.activity_key, d.device_key, 'pending', clock_timestamp()
                FROM activities AS a
                JOIN activity_types AS p USING (bundle_id, type_name)
                CROSS JOIN LATERAL (
                    SELECT d.device_key, d.environment, d.device_token FROM devices AS d
                    WHERE a.audience_all AND d.bundle_id = a.bundle_id
                      AND EXISTS (SELECT FROM start_tokens AS k
                                  WHERE k.device_key = d.device_key AND k.type_name = a.type_name)
                    UNION
                    SELECT d.device_key, d.environment, d.device_token FROM audience_members AS m
                    JOIN devices AS d ON d.bundle_id = a.bundle_id AND d.device_id = m.member_id
                    WHERE m.activity_key = a.activity_key AND m.kind = 'device'
                    UNION
                    SELECT d.device_key, d.environment, d.device_token FROM audience_members AS m
                    JOIN devices AS d ON d.bundle_id = a.bundle_id AND d.user_id = m.member_id
                    WHERE m.activity_key = a.activity_key AND m.kind = 'user'
                ) AS d
                LEFT JOIN start_tokens AS t
                    ON t.device_key = d.device_key AND t.type_name = a.type_name AND t.state = 'live'
                WHERE a.activity_key = \(activityKey) AND a.state = 'live' AND d.environment = a.environment
                  AND \(unescaped: Self.isReachable)
                  AND NOT EXISTS (
                      SELECT FROM subscriptions AS s
                      WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
                  )
                  AND NOT EXISTS (
                      SELECT FROM starts AS s
                      WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
                        AND NOT \(unescaped: Self.wasGivenUp("s"))
                  )
                ORDER BY d.device_key
                ON CONFLICT (activity_key, device_key) DO UPDATE
                SET state = CASE starts.state WHEN 'unknown' THEN starts.state ELSE 'pending' END,
                    due_at = clock_timestamp(), reason = NULL
                WHERE \(unescaped: Self.wasGivenUp("starts"))
                """,
            ])
        }
    }

    /// Starts what is running on a device that has just been registered: an audience is a standing rule until the end.
    ///
    /// Call it after the registration is committed and before it is answered, so that an app whose report was answered
    /// is certainly enrolled. A start that was withheld or failed for the old registration is tried again; one that is
    /// under way is, if it comes to nothing. What may have left before still counts: `attempts` are kept.
    package func enrol(deviceKey: Int64) async throws {
        let woken = try await database.withTransaction { connection in
            let rows = try await connection.query(
                """
                INSERT INTO starts (activity_key, device_key, state, due_at)
                SELECT a.activity_key, d.device_key, 'pending', clock_timestamp()
                FROM devices AS d
                CROSS JOIN LATERAL (
                    SELECT a.activity_key, a.type_name FROM start_tokens AS k
                    JOIN activities AS a ON a.bundle_id = d.bundle_id AND a.type_name = k.type_name
                    WHERE k.device_key = d.device_key AND a.environment = d.environment
                      AND a.audience_all AND a.state = 'live'
                    UNION
                    SELECT a.activity_key, a.type_name FROM audience_members AS m JOIN activities AS a USING (activity_key)
                    WHERE m.bundle_id = d.bundle_id AND m.kind = 'device' AND m.member_id = d.device_id
                      AND a.environment = d.environment AND a.state = 'live'
                    UNION
                    SELECT a.activity_key, a.type_name FROM audience_members AS m JOIN activities AS a USING (activity_key)
                    WHERE m.bundle_id = d.bundle_id AND m.kind = 'user' AND m.member_id = d.user_id
                      AND a.environment = d.environment AND a.state = 'live'
                ) AS a
                JOIN activity_types AS p ON p.bundle_id = d.bundle_id AND p.type_name = a.type_name
                LEFT JOIN start_tokens AS t
                    ON t.device_key = d.device_key AND t.type_name = a.type_name AND t.state = 'live'
                WHERE d.device_key = \(deviceKey) AND \(unescaped: Self.isReachable)
                  AND NOT EXISTS (
                      SELECT FROM subscriptions AS s
                      WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
                  )
                ORDER BY a.activity_key
                ON CONFLICT (activity_key, device_key) DO UPDATE
                SET state = CASE WHEN starts.state IN ('claimed', 'unknown') THEN starts.state ELSE 'pending' END,
                    due_at = CASE starts.state WHEN 'claimed' THEN starts.due_at ELSE clock_timestamp() END,
                    failures = 0, reason = NULL, renewed = true
                WHERE starts.state IN ('withheld', 'failed', 'claimed') OR \(unescaped: Self.wasGivenUp("starts"))
                RETURNING activity_key
                """
            )
            let keys = try rows.decoded(as: Int64.self)
            if !keys.isEmpty {
                _ = try await connection.execute(SegmentStore.announce(activityKeys: keys))
            }
            return !keys.isEmpty
        }
        if woken { wakeUps.signal() }
    }

    /// The condition that the device `d` can be sent a start by its token `t`, or, if the policy `p` says so, an alert in
    /// its stead. Whether it really is decides the claim.
    private static let isReachable = """
        (t.token IS NOT NULL
         OR (d.device_token IS NOT NULL
             AND coalesce(\(StoredJSON.text(at: "{fallback_alert}", of: "p.policy"))::boolean, false)))
        """

    /// The condition that a start was given up because its device had been removed from the audience; it may be wanted
    /// again. One that may have left is repeated, but not more than once (promise 6).
    private static func wasGivenUp(_ start: String) -> String {
        """
        (\(start).state = 'cancelled'
         OR (\(start).state = 'unknown' AND \(start).due_at IS NULL
             AND \(start).attempts < 2))
        """
    }
}
