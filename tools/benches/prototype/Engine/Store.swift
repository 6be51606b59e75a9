import ActivityModel
import APNSTransport
import DeliveryStore
package import Postgres
import Synchronization

/// Every statement of the prototype.
package struct Store: Sendable {
    package let database: Database
    private let statements = Counter()

    package init(_ database: Database) {
        self.database = database
    }

    /// How many statements were run so far.
    package var statementCount: Int { statements.value }

    private func run(_ queries: [Query]) async throws(PostgresError) -> [Rows] {
        statements.add(queries.count)
        return try await database.pipeline(queries)
    }

    // MARK: Ownership

    /// Enters a daemon with a new number.
    func enter(lease: Duration) async throws(PostgresError) -> Int64 {
        let rows = try await run([
            """
            INSERT INTO prototype.daemons
            SELECT nextval('prototype.daemon_numbers'), clock_timestamp() + \(lease / .seconds(1)) * interval '1 second'
            RETURNING daemon
            """
        ])
        return try rows[0].first(as: Int64.self) ?? 0
    }

    /// What a daemon learns once a second.
    struct Look {
        let isAlive: Bool
        let daemons: Int
        let table: [Ownership.Row]
    }

    /// Renews the lease, deletes daemons whose lease is over, and reads the table of partitions. The deletion waits for
    /// a renewal under way, and then leaves its daemon alone. A deleted daemon can no longer renew.
    func renew(_ daemon: Int64, lease: Duration) async throws(PostgresError) -> Look {
        let rows = try await run([
            """
            UPDATE prototype.daemons
            SET lease_until = clock_timestamp() + \(lease / .seconds(1)) * interval '1 second' WHERE daemon = \(daemon)
            """,
            "DELETE FROM prototype.daemons WHERE lease_until < clock_timestamp()",
            """
            SELECT p.partition, p.owner, p.epoch, d.daemon IS NOT NULL, (SELECT count(*) FROM prototype.daemons)
            FROM prototype.partitions AS p LEFT JOIN prototype.daemons AS d ON d.daemon = p.owner ORDER BY p.partition
            """,
        ])
        let table = try rows[2].decoded(as: (Int16, Int64?, Int64, Bool, Int).self)
        return Look(
            isAlive: rows[0].affectedRows == 1,
            daemons: table.first?.4 ?? 1,
            table: table.map { Ownership.Row(partition: $0.0, owner: $0.1, epoch: $0.2, isOwnerAlive: $0.3) }
        )
    }

    /// Partitions that now belong to the daemon.
    struct Claim {
        var epochs: [Int16: Int64] = [:]
        /// From where the log must be read.
        var done: UInt64 = .max
    }

    /// Takes partitions without a living owner. It waits for write transactions of the owner before.
    func claim(_ partitions: [Int16], for daemon: Int64) async throws(PostgresError) -> Claim {
        let rows = try await run([
            """
            WITH free AS (
                SELECT partition FROM prototype.partitions AS p
                WHERE partition = ANY(\(partitions))
                    AND NOT EXISTS (SELECT FROM prototype.daemons AS d WHERE d.daemon = p.owner)
                ORDER BY partition FOR UPDATE
            )
            UPDATE prototype.partitions AS p SET owner = \(daemon), epoch = epoch + 1 FROM free, prototype.progress AS g
            WHERE p.partition = free.partition AND g.partition = p.partition
            RETURNING p.partition, p.epoch, g.done::text
            """
        ])
        var claim = Claim()
        for (partition, epoch, done) in try rows[0].decoded(as: (Int16, Int64, String).self) {
            claim.epochs[partition] = epoch
            claim.done = min(claim.done, UInt64(done) ?? 0)
        }
        return claim
    }

    func release(_ partitions: [Int16], of daemon: Int64) async throws(PostgresError) {
        _ = try await run([
            """
            UPDATE prototype.partitions SET owner = NULL WHERE owner = \(daemon) AND partition = ANY(\(partitions))
            """
        ])
    }

    func leave(_ daemon: Int64) async throws(PostgresError) {
        _ = try await run([
            "UPDATE prototype.partitions SET owner = NULL WHERE owner = \(daemon)",
            "DELETE FROM prototype.daemons WHERE daemon = \(daemon)",
        ])
    }

    /// Names epochs in a transaction: `held` has the partitions that still belong to the writer, and a takeover waits.
    private func held(_ epochs: [Int16: Int64]) -> Query.StringInterpolation {
        let sorted = epochs.sorted { $0.key < $1.key }
        var text = Query.StringInterpolation(literalCapacity: 256, interpolationCount: 2)
        text.appendLiteral(
            "WITH held AS MATERIALIZED (SELECT p.partition FROM unnest("
        )
        text.appendInterpolation(sorted.map(\.key))
        text.appendLiteral(", ")
        text.appendInterpolation(sorted.map(\.value))
        text.appendLiteral(
            ") AS e(partition, epoch) JOIN prototype.partitions AS p USING (partition) WHERE p.epoch = e.epoch FOR SHARE OF p)"
        )
        return text
    }

    // MARK: The log

    /// A judged change on its way into the log.
    struct Entry {
        let key: Int64
        let partition: Int16
        let type: Int32
        let generation: Int32
        let change: Change
    }

    /// Appends changes in one statement, which commits. A change is left out if its revision exists, or its type has
    /// changed since.
    ///
    /// - Returns: The keys of the activities whose change was written.
    func append(_ entries: [Entry], by daemon: Int64) async throws(PostgresError) -> [Int64] {
        let columns: [RowColumn] = [
            .each("activity_key", entries.map(\.key)),
            .each("revision", entries.map(\.change.revision)),
            .each("partition", entries.map(\.partition)),
            .usually(false, "is_end", entries.map(\.change.isEnd)),
            .each("stamp", entries.map(\.change.stamp)),
            .usually(1, "type_key", entries.map(\.type)),
            .usually(1, "generation", entries.map(\.generation)),
            .each("content", entries.map { JSONText($0.change.content) }),
        ]
        let rows = try await run([
            """
            INSERT INTO prototype.changes
                (activity_key, revision, partition, is_end, stamp, accepted_by, transaction, content)
            SELECT u.activity_key, u.revision, u.partition, u.is_end, u.stamp, \(daemon), (SELECT pg_current_xact_id()), u.content
            FROM \(rows: columns) AS u JOIN prototype.types AS t ON t.type_key = u.type_key AND t.generation = u.generation
            ON CONFLICT DO NOTHING RETURNING activity_key
            """
        ])
        guard rows[0].affectedRows < entries.count else { return entries.map(\.key) }
        return try rows[0].decoded(as: Int64.self)
    }

    /// What a look at the tail found.
    struct Tail {
        let entries: [LogTail.Entry]
        let oldestOpen: UInt64
    }

    /// Reads what other daemons appended for these partitions.
    func tail(from low: UInt64, of partitions: [Int16], except daemon: Int64?) async throws(PostgresError) -> Tail {
        let rows = try await run([
            // Each statement has its own snapshot. This one comes first: whatever it calls finished, the next one sees.
            "SELECT pg_snapshot_xmin(pg_current_snapshot())::text",
            """
            SELECT transaction::text, activity_key, revision FROM prototype.changes
            WHERE transaction >= \(String(low))::text::xid8 AND partition = ANY(\(partitions))
                AND accepted_by <> \(daemon ?? 0)
            """,
        ])
        let entries = try rows[1].decoded(as: (String, Int64, Int64).self).map {
            LogTail.Entry(transaction: UInt64($0.0) ?? 0, activity: $0.1, revision: $0.2)
        }
        return Tail(entries: entries, oldestOpen: UInt64(try rows[0].first(as: String.self) ?? "0") ?? 0)
    }

    // MARK: Activities

    /// One activity with its newest change and, if it is small, its phones.
    struct Loaded {
        let id: String
        let type: Int32
        let generation: Int32
        let newest: Change
        let state: ActivityState
    }

    func load(ids: [String]) async throws -> [Loaded] { try await load("activity_id", ids) }

    func load(keys: [Int64]) async throws -> [Loaded] { try await load("activity_key", keys) }

    private func load(_ column: String, _ values: some PostgresValue) async throws -> [Loaded] {
        let rows = try await run([
            """
            SELECT a.activity_key, a.activity_id, a.partition, a.type_key, a.audience, a.channel_id, a.sent_revision,
                   c.revision, c.is_end, c.stamp, CASE WHEN c.revision > a.sent_revision THEN c.content END, t.generation
            FROM prototype.activities AS a JOIN prototype.types AS t USING (type_key) CROSS JOIN LATERAL (
                SELECT revision, is_end, stamp, content FROM prototype.changes AS c
                WHERE c.activity_key = a.activity_key ORDER BY revision DESC LIMIT 1
            ) AS c WHERE a.\(unescaped: column) = ANY(\(values))
            """,
            """
            SELECT c.activity_key, c.device_key, c.token FROM prototype.activities AS a
            JOIN prototype.cards AS c USING (activity_key)
            WHERE a.audience = 'cards' AND NOT c.is_dead AND a.\(unescaped: column) = ANY(\(values))
            """,
        ])
        var cards: [Int64: [Card]] = [:]
        for row in rows[1] {
            let key = try row.decode(Int64.self, at: 0)
            cards[key, default: []].append(
                Card(device: try row.decode(at: 1), token: try row.decode([UInt8].self, at: 2), sent: 0)
            )
        }
        return try rows[0].map { row in
            let key = try row.decode(Int64.self, at: 0)
            let audience: Audience =
                switch try row.decode(String.self, at: 4) {
                case "cards": .cards(cards[key] ?? [])
                case "channel": .channel(APNSChannelID(stored: try row.decode(String.self, at: 5)))
                default: .ring
                }
            let newest = Change(
                revision: try row.decode(at: 7),
                isEnd: try row.decode(at: 8),
                stamp: try row.decode(at: 9),
                content: try row.decode(JSONText?.self, at: 10)?.bytes ?? []
            )
            return Loaded(
                id: try row.decode(String.self, at: 1),
                type: try row.decode(Int32.self, at: 3),
                generation: try row.decode(Int32.self, at: 11),
                newest: newest,
                state: ActivityState(
                    key: key,
                    partition: try row.decode(Int16.self, at: 2),
                    newest: newest,
                    sent: try row.decode(Int64.self, at: 6),
                    audience: audience
                )
            )
        }
    }

    // MARK: Records

    /// The progress of one activity.
    struct Record {
        let key: Int64
        let partition: Int16
        let sent: Int64
        let accepted: Int64
    }

    /// Records passes, in one statement.
    ///
    /// - Returns: The partitions that were still owned. Records of others are dropped.
    func record(
        _ records: [Record],
        dead: [(key: Int64, device: Int64)],
        under epochs: [Int16: Int64]
    ) async throws
        -> [Int16]
    {
        var text = held(epochs)
        text.appendLiteral(
            """
            , recorded AS (
                UPDATE prototype.activities AS a SET sent_revision = u.sent, accepted = a.accepted + u.accepted
                FROM
            """
        )
        text.appendLiteral(" ")
        text.appendInterpolation(rows: [
            .each("activity_key", records.map(\.key)), .each("partition", records.map(\.partition)),
            .each("sent", records.map(\.sent)), .each("accepted", records.map(\.accepted)),
        ])
        text.appendLiteral(
            """
             AS u WHERE a.activity_key = u.activity_key AND u.partition = ANY (ARRAY(SELECT partition FROM held))
            )
            """
        )
        if !dead.isEmpty {
            text.appendLiteral(", died AS (UPDATE prototype.cards AS c SET is_dead = true FROM unnest(")
            text.appendInterpolation(dead.map(\.key))
            text.appendLiteral(", ")
            text.appendInterpolation(dead.map(\.device))
            text.appendLiteral(
                ") AS u(activity_key, device_key) WHERE c.activity_key = u.activity_key AND c.device_key = u.device_key)"
            )
        }
        text.appendLiteral(" SELECT partition FROM held")
        return try await run([Query(stringInterpolation: text)])[0].decoded(as: Int16.self)
    }

    /// Notes up to where the log is recorded, for a takeover.
    func saveProgress(_ done: UInt64, under epochs: [Int16: Int64]) async throws {
        var text = held(epochs)
        text.appendLiteral(" UPDATE prototype.progress SET done = ")
        text.appendInterpolation(String(done))
        text.appendLiteral("::text::xid8 WHERE partition IN (SELECT partition FROM held)")
        _ = try await run([Query(stringInterpolation: text)])
    }

    // MARK: Rings

    func ring(_ key: Int64) async throws -> Carousel {
        let rows = try await run([
            "SELECT cursor, completed, lap_revision, lap_origin FROM prototype.rings WHERE activity_key = \(key)"
        ])
        guard let row = try rows[0].first(as: (Int64, Int64, Int64?, Int64?).self) else { return Carousel() }
        var lap: Carousel.Lap?
        if let revision = row.2, let origin = row.3 { lap = Carousel.Lap(revision: revision, origin: origin) }
        return Carousel(cursor: row.0, completed: row.1, lap: lap)
    }

    /// Saves the position of a ring, and who must be tried again.
    ///
    /// - Returns: Whether the partition was still owned.
    func save(_ carousel: Carousel, of key: Int64, behind: [Int64], under epochs: [Int16: Int64]) async throws -> Bool {
        var text = held(epochs)
        if !behind.isEmpty {
            text.appendLiteral(", late AS (UPDATE prototype.cards SET behind_revision = ")
            text.appendInterpolation(carousel.begun)
            text.appendLiteral(" WHERE activity_key = ")
            text.appendInterpolation(key)
            text.appendLiteral(" AND device_key = ANY(")
            text.appendInterpolation(behind)
            text.appendLiteral("))")
        }
        text.appendLiteral(" UPDATE prototype.rings SET cursor = ")
        text.appendInterpolation(carousel.cursor)
        text.appendLiteral(", completed = ")
        text.appendInterpolation(carousel.completed)
        text.appendLiteral(", lap_revision = ")
        text.appendInterpolation(carousel.lap?.revision)
        text.appendLiteral(", lap_origin = ")
        text.appendInterpolation(carousel.lap?.origin)
        text.appendLiteral(" FROM held WHERE activity_key = ")
        text.appendInterpolation(key)
        return try await run([Query(stringInterpolation: text)])[0].affectedRows == 1
    }

    /// The next phones of a ring: device key and token.
    func page(_ key: Int64, after: Int64, through: Int64?, limit: Int) async throws(PostgresError) -> Rows {
        try await run([
            """
            SELECT device_key, token FROM prototype.cards
            WHERE activity_key = \(key) AND device_key > \(after) AND device_key <= \(through ?? .max) AND NOT is_dead
            ORDER BY device_key LIMIT \(limit)
            """
        ])[0]
    }

    // MARK: Signals

    /// Tells other owners that the log has grown.
    func announce() async throws {
        _ = try await run(["SELECT pg_notify('prototype', '')"])
    }
}

/// A count that several tasks add to.
private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add(_ amount: Int) { count.add(amount, ordering: .relaxed) }
}
