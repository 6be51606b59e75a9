package import Postgres

// Scenes that no caller of the API can make, or not within a test's time.
extension EngineTables {
    /// Work is due in so many seconds, nil: never, and a daemon holds it for so many, nil: none does. Of some
    /// activities, or of all.
    package func setWork(dueIn due: Int64?, heldFor held: Int64? = nil, of activities: [String]? = nil) async throws {
        try await database.execute(
            """
            UPDATE segments SET due_at = clock_timestamp() + \(due) * interval '1 second',
                lease_owner = CASE WHEN \(held) IS NOT NULL THEN gen_random_uuid() END,
                lease_until = clock_timestamp() + \(held) * interval '1 second'
            WHERE \(activities) IS NULL OR activity_key IN (
                SELECT activity_key FROM activities WHERE activity_id = ANY(\(activities))
            )
            """
        )
    }

    /// The statement that locks one card.
    package static let oneCardHeld: Query = "SELECT FROM subscriptions LIMIT 1 FOR NO KEY UPDATE"

    /// Nothing is due on a way.
    package func hold(_ way: Way) async throws {
        try await database.execute(Query(unescaped: "UPDATE segments SET due_at = NULL WHERE \(way.filter)"))
    }

    /// All is due on a way.
    package func release(_ way: Way) async throws {
        try await database.execute(Query(unescaped: "UPDATE segments SET due_at = now() WHERE \(way.filter)"))
    }

    /// As if nobody had been there whom a revision could reach by its token.
    package func skipTokens(through revision: Int64) async throws {
        try await database.execute("UPDATE segments SET completed_revision = \(revision) WHERE segment = 0")
    }

    /// As if the clock had been set back by so many seconds after the last push.
    package func setClockBack(_ seconds: Int64) async throws {
        try await database.execute("UPDATE segments SET pushed_at = pushed_at + \(seconds) * interval '1 second'")
    }

    /// Every device gets a card of every activity, in that state.
    package func addCards(_ state: String, token: String) async throws {
        try await database.execute(
            """
            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, due_at)
            SELECT activity_key, device_key, 'token', \(state)::subscription_state, decode(\(token), 'hex'), now()
            FROM activities, devices
            """
        )
    }

    /// Every device gets a start of every activity, in that state.
    package func addStarts(_ state: String, dueIn due: Int64?, reason: String? = nil) async throws {
        try await database.execute(
            """
            INSERT INTO starts (activity_key, device_key, state, due_at, reason)
            SELECT activity_key, device_key, \(state)::start_state, clock_timestamp() + \(due) * interval '1 second',
                   \(reason)
            FROM activities, devices
            """
        )
    }

    /// No start is due any more.
    package func giveUpStarts() async throws {
        try await database.execute("UPDATE starts SET due_at = NULL")
    }

    /// The card of a device is taken for rejected.
    package func reject(_ device: String, reason: String) async throws {
        try await database.execute(
            """
            UPDATE subscriptions SET state = 'rejected', reason = \(reason)
            WHERE device_key = (SELECT device_key FROM devices WHERE device_id = \(device))
            """
        )
    }

    /// The work of all segments has failed so many times in a row.
    package func setFailures(_ failures: Int64) async throws {
        try await database.execute("UPDATE segments SET failures = \(failures)")
    }

    /// Sending to an app is halted.
    package func halt(
        _ app: String,
        _ environment: String = "production",
        answers: Int64 = 100,
        rejections: Int64 = 100,
        since seconds: Int64 = 0,
        probeIn pause: Int64 = 0
    ) async throws {
        try await database.execute(
            """
            INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
            VALUES (\(app), \(environment)::apns_environment, now() - \(seconds) * interval '1 second', \(answers),
                    \(rejections), now() + \(pause) * interval '1 second')
            """
        )
    }

    /// An ordinary push waits that was due so many seconds ago.
    package func addPush(of app: String, overdueFor seconds: Int64) async throws {
        try await database.execute(
            """
            INSERT INTO pushes (push_id, bundle_id, environment, token, push_type, priority, body, deadline, due_at)
            VALUES (gen_random_uuid(), \(app), 'production', 'x', 'alert', 10, '{}',
                    clock_timestamp() + interval '1 day', clock_timestamp() - \(seconds) * interval '1 second')
            """
        )
    }

    /// Decisions for the revisions 11 to 310: of the class `ordinary` all, of `frequent` those after 13. The first seven
    /// have priority 10, and the first two are two hours old.
    package func addDecisions() async throws {
        try await database.execute(
            """
            INSERT INTO budget_ledger (activity_key, class, revision, priority, reason, decided_at)
            SELECT activity_key, class, 10 + n, CASE WHEN n <= 7 THEN 10 ELSE 5 END, 'notable',
                   CASE WHEN n <= 2 THEN now() - interval '2 hours' ELSE now() - n * interval '1 second' END
            FROM activities, unnest('{ordinary,frequent}'::budget_class[]) AS class, generate_series(1, 300) AS n
            WHERE class = 'ordinary' OR n > 3
            """
        )
    }

    /// Every activity gets a row of what sends to tokens, as an activity has that was started.
    package func addWork() async throws {
        try await database.execute(
            "INSERT INTO segments (activity_key, segment) SELECT activity_key, 0 FROM activities ON CONFLICT DO NOTHING"
        )
    }

    /// Every activity gets so many parts more, which rest.
    package func addParts(_ count: Int64) async throws {
        try await database.execute(
            """
            INSERT INTO segments (activity_key, segment, after_key, through_key)
            SELECT activity_key, n, n, n + 1 FROM activities, generate_series(1, \(count)) AS n
            """
        )
        try await database.execute("ANALYZE segments, activities")
    }

    /// How many rows of what sends Postgres has read so far.
    package func workRowsRead() async throws -> Int64 {
        _ = try await database.query("SELECT pg_stat_force_next_flush()")
        return try await database.query(
            """
            SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables
            WHERE relname = 'segments'
            """
        ).first(as: Int64.self) ?? 0
    }

    /// From now on nobody can read what sends.
    package func breakWork() async throws {
        try await database.execute("ALTER TABLE segments RENAME TO slow")
    }
}

// What a test's own transaction does on its connection.
extension EngineTables {
    /// Locks what sends.
    package static let workLock: Query = "SELECT FROM segments FOR UPDATE"

    /// Locks a card as a sender does that stores an answer.
    package static func cardLock(token: String? = nil) -> Query {
        "SELECT FROM subscriptions WHERE update_token = coalesce(decode(\(token), 'hex'), update_token) FOR NO KEY UPDATE"
    }

    /// Locks the starts of a device, or all.
    package static func startLock(device: String? = nil) -> Query {
        """
        SELECT FROM starts AS s JOIN devices AS d USING (device_key)
        WHERE d.device_id = coalesce(\(device), d.device_id) FOR UPDATE OF s
        """
    }

    /// SQL that counts a failure of a device's card, and returns `activity_key`, `device_key` and `reason`.
    package static func failure(of device: String) -> String {
        """
        UPDATE subscriptions AS s SET failures = failures + 1 FROM devices AS d
        WHERE d.device_key = s.device_key AND d.device_id = '\(device)'
        RETURNING s.activity_key, s.device_key, s.reason
        """
    }
}
