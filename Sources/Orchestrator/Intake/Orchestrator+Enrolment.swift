import Postgres

extension Orchestrator {
    /// Turns the audience of an activity into starts that are due now.
    ///
    /// Runs after the commit that changed the audience: a device that registers at the same moment is either seen here
    /// or sees the audience in ``enrol(deviceKey:)``.
    func enrolAudience(of activityKey: Int64) async throws {
        _ = try await database.withTransaction { connection in
            try await connection.pipeline([
                "UPDATE activities SET enrolment_due = false WHERE activity_key = \(activityKey)",
                """
                INSERT INTO starts (activity_key, device_key, state, due_at)
                SELECT a.activity_key, d.device_key, 'pending', clock_timestamp()
                FROM activities AS a
                CROSS JOIN LATERAL (
                    SELECT d.device_key, d.environment FROM devices AS d WHERE a.audience_all AND d.bundle_id = a.bundle_id
                    UNION
                    SELECT d.device_key, d.environment FROM audience_members AS m
                    JOIN devices AS d ON d.bundle_id = a.bundle_id AND d.device_id = m.member_id
                    WHERE m.activity_key = a.activity_key AND m.kind = 'device'
                    UNION
                    SELECT d.device_key, d.environment FROM audience_members AS m
                    JOIN devices AS d ON d.bundle_id = a.bundle_id AND d.user_id = m.member_id
                    WHERE m.activity_key = a.activity_key AND m.kind = 'user'
                ) AS d
                JOIN start_tokens AS t
                    ON t.device_key = d.device_key AND t.type_name = a.type_name AND t.state = 'live'
                WHERE a.activity_key = \(activityKey) AND a.state = 'live' AND d.environment = a.environment
                  AND NOT EXISTS (
                      SELECT FROM subscriptions AS s
                      WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
                  )
                ORDER BY d.device_key
                ON CONFLICT (activity_key, device_key) DO NOTHING
                """,
            ])
        }
    }

    /// Starts what is running on a device that has just been registered: an audience is a standing rule until the end.
    ///
    /// Call it after the registration is committed and before it is answered, so that an app whose report was answered
    /// is certainly enrolled. A start that was withheld or failed for the old registration is tried again; one that is
    /// under way is, if it comes to nothing.
    package func enrol(deviceKey: Int64) async throws {
        let woken = try await database.withTransaction { connection in
            let rows = try await connection.query(
                """
                INSERT INTO starts (activity_key, device_key, state, due_at)
                SELECT a.activity_key, d.device_key, 'pending', clock_timestamp()
                FROM devices AS d
                JOIN start_tokens AS t ON t.device_key = d.device_key AND t.state = 'live'
                CROSS JOIN LATERAL (
                    SELECT a.activity_key FROM activities AS a
                    WHERE a.bundle_id = d.bundle_id AND a.type_name = t.type_name AND a.environment = d.environment
                      AND a.audience_all AND a.state = 'live'
                    UNION
                    SELECT a.activity_key FROM audience_members AS m JOIN activities AS a USING (activity_key)
                    WHERE m.bundle_id = d.bundle_id AND m.kind = 'device' AND m.member_id = d.device_id
                      AND a.type_name = t.type_name AND a.environment = d.environment AND a.state = 'live'
                    UNION
                    SELECT a.activity_key FROM audience_members AS m JOIN activities AS a USING (activity_key)
                    WHERE m.bundle_id = d.bundle_id AND m.kind = 'user' AND m.member_id = d.user_id
                      AND a.type_name = t.type_name AND a.environment = d.environment AND a.state = 'live'
                ) AS a
                WHERE d.device_key = \(deviceKey)
                  AND NOT EXISTS (
                      SELECT FROM subscriptions AS s
                      WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
                  )
                ORDER BY a.activity_key
                ON CONFLICT (activity_key, device_key) DO UPDATE
                SET state = CASE starts.state WHEN 'claimed' THEN starts.state ELSE 'pending' END,
                    due_at = CASE starts.state WHEN 'claimed' THEN starts.due_at ELSE clock_timestamp() END,
                    failures = 0, reason = NULL, renewed = true
                WHERE starts.state IN ('withheld', 'failed', 'claimed')
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
}
