package import Postgres

/// The tables of the sending engine, as tests ask about them.
///
/// Outside the engine's own tests only this folder names them (`EngineTablesTests` checks that). So a new engine needs
/// new answers here, and the tests stay.
package struct EngineTables: Sendable {
    let database: Database

    package init(_ database: Database) {
        self.database = database
    }

    /// How pushes of an activity travel.
    package enum Way: Sendable {
        case tokens, channel

        var filter: String { self == .tokens ? "segment >= 0" : "segment < 0" }
    }

    /// The card of an activity on a device.
    package struct Card: Sendable {
        package let activity: String
        package let device: String
        /// How Tally reaches it: `token` or `channel`.
        package let mode: String
        package let state: String
        package let reason: String?
        package let token: String?
        package let isFrequent: Bool
        /// In milliseconds since 1970.
        package let rejectedAt: Int64?
        /// Whether it has not begun.
        package let isPending: Bool
        /// Whether APNs has taken the end of the activity for it.
        package let isEnded: Bool
    }

    /// The start of an activity on a device.
    package struct Start: Sendable {
        package let activity: String
        package let device: String
        package let state: String
        package let reason: String?
        package let attempts: Int
        /// Equal as long as nobody has written the row.
        package let version: String
    }

    /// A card that a new one continues, or is to continue.
    package struct Continuation: Sendable {
        package let activity: String
        package let device: String
        /// How many pushes may have started the old card.
        package let attempts: Int
    }

    /// The devices that one part of an activity's tokens holds: those whose keys are over `after`, up to `through`.
    package struct Part: Sendable {
        package let activity: String
        package let after: Int64
        package let through: Int64
    }
}

// MARK: Questions

extension EngineTables {
    /// All cards, in the order of their devices.
    package func cards() async throws -> [Card] {
        let rows = try await database.query(
            """
            SELECT a.activity_id, d.device_id, s.mode::text, s.state::text, s.reason,
                   encode(s.update_token, 'hex') AS token, s.frequent,
                   floor(extract(epoch FROM s.rejected_at) * 1000)::bigint AS rejected_at,
                   s.pending_since IS NOT NULL AS is_pending,
                   a.state = 'ended' AND s.state = 'riding' AND NOT EXISTS (
                       SELECT FROM segments AS g
                       WHERE g.activity_key = a.activity_key AND g.segment >= 0 AND g.completed_revision < a.revision
                   ) AS is_ended
            FROM subscriptions AS s JOIN activities AS a USING (activity_key) JOIN devices AS d USING (device_key)
            ORDER BY device_key, activity_key
            """
        )
        return try rows.map { row in
            try Card(
                activity: row["activity_id"],
                device: row["device_id"],
                mode: row["mode"],
                state: row["state"],
                reason: row["reason"],
                token: row["token"],
                isFrequent: row["frequent"],
                rejectedAt: row["rejected_at"],
                isPending: row["is_pending"],
                isEnded: row["is_ended"]
            )
        }
    }

    /// The card of a device: that of its first activity.
    package func card(of device: String) async throws -> Card? {
        try await cards().first { $0.device == device }
    }

    /// All starts, in the order of their devices.
    package func starts() async throws -> [Start] {
        let rows = try await database.query(
            """
            SELECT a.activity_id, d.device_id, s.state::text, s.reason, s.attempts, s.xmin::text AS version
            FROM starts AS s JOIN activities AS a USING (activity_key) JOIN devices AS d USING (device_key)
            ORDER BY device_key, activity_key
            """
        )
        return try rows.map { row in
            try Start(
                activity: row["activity_id"],
                device: row["device_id"],
                state: row["state"],
                reason: row["reason"],
                attempts: row["attempts"],
                version: row["version"]
            )
        }
    }

    /// All cards that new ones continue, or are to continue.
    package func continuations() async throws -> [Continuation] {
        let rows = try await database.query(
            """
            SELECT a.activity_id, d.device_id, k.attempts
            FROM continuations AS k JOIN activities AS a USING (activity_key) JOIN devices AS d USING (device_key)
            ORDER BY device_key, activity_key, k.started_at
            """
        )
        return try rows.decoded(as: (String, String, Int16).self).map {
            Continuation(activity: $0.0, device: $0.1, attempts: Int($0.2))
        }
    }

    /// Whether a push of its own waits for a device: a start, or a card that is behind.
    package func pending(for device: String) async throws -> Bool {
        let isStarted = try await starts().contains { $0.device == device && $0.state == "pending" }
        let isBehind = try await cards().contains { $0.device == device && $0.state == "due" }
        return isStarted || isBehind
    }

    /// Whether nothing is due, now or later, and no daemon is at work; if a way is named, only on that.
    package func isAtRest(_ way: Way? = nil) async throws -> Bool {
        try await count(
            "segments WHERE (due_at IS NOT NULL OR lease_owner IS NOT NULL) AND \(way?.filter ?? "true")"
        ) == 0
    }

    /// How much work daemons hold at the moment.
    package func heldWork() async throws -> Int { try await count("segments WHERE lease_owner IS NOT NULL") }

    /// How many daemons have sent an activity's pushes to tokens last.
    package func carriers(of activity: String) async throws -> Int {
        let rows = try await database.query(
            """
            SELECT count(DISTINCT s.lease_daemon) FROM segments AS s JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(activity) AND s.segment >= 0
            """
        )
        return try rows.first(as: Int.self) ?? 0
    }

    /// The changes that must reach everybody before anything newer, and have not yet.
    package func openBarriers() async throws -> Int {
        try await count(
            """
            changes AS c WHERE must_deliver AND EXISTS (
                SELECT FROM segments AS s WHERE s.activity_key = c.activity_key AND s.completed_revision < c.revision
            )
            """
        )
    }

    /// What the tokens of all activities are divided into, in the order of their devices.
    package func parts() async throws -> [Part] {
        let rows = try await database.query(
            """
            SELECT a.activity_id, g.after_key, g.through_key FROM segments AS g JOIN activities AS a USING (activity_key)
            WHERE g.segment >= 0 ORDER BY g.activity_key, g.after_key
            """
        )
        return try rows.decoded(as: (String, Int64, Int64).self).map {
            Part(activity: $0.0, after: $0.1, through: $0.2)
        }
    }

    /// How many rows there are of what sends: one for the channel of an activity, and one for each part of its tokens.
    package func workRows() async throws -> Int { try await count("segments") }

    /// Whether sending is halted anywhere.
    package func isHalted() async throws -> Bool { try await count("sending_halts") > 0 }

    /// How many rows each activity has here, in words.
    package func rowCounts() async throws -> [String: String] {
        let rows = try await database.query(
            """
            SELECT a.activity_id, format('%s cards, %s starts, %s segments',
                (SELECT count(*) FROM subscriptions AS p WHERE p.activity_key = a.activity_key),
                (SELECT count(*) FROM starts AS p WHERE p.activity_key = a.activity_key),
                (SELECT count(*) FROM segments AS p WHERE p.activity_key = a.activity_key))
            FROM activities AS a
            """
        )
        return Dictionary(uniqueKeysWithValues: try rows.decoded(as: (String, String).self).map { ($0, $1) })
    }

    /// When the next work is due, or the next lease ends: in milliseconds since 1970.
    package func nextWork() async throws -> Int64? {
        try await database.query(
            "SELECT floor(extract(epoch FROM min(greatest(due_at, lease_until))) * 1000)::bigint FROM segments"
        ).first(as: Int64?.self) ?? nil
    }

    /// The updates of the last hour that were decided to have priority 10, by activity and budget class. `clock` is SQL
    /// for the time.
    package func importantUpdates(at clock: String) async throws -> [(activity: String, class: String, count: Int64)] {
        try await database.query(
            """
            SELECT a.activity_id, l.class::text, count(*)
            FROM budget_ledger AS l JOIN activities AS a USING (activity_key)
            JOIN changes AS c ON c.activity_key = l.activity_key AND c.revision = l.revision
            WHERE l.priority = 10 AND c.kind = 'update' AND l.decided_at > \(unescaped: clock) - interval '1 hour'
            GROUP BY 1, 2
            """
        ).decoded(as: (String, String, Int64).self).map { ($0, $1, $2) }
    }

    private func count(_ what: String) async throws -> Int {
        try await database.query(Query(unescaped: "SELECT count(*) FROM \(what)")).first(as: Int.self) ?? 0
    }
}
