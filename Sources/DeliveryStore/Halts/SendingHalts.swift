import APITypes
import ActivityModel
import FoundationEssentials
import JSON
import Logging
import Metrics
import Postgres
package import Store
import Synchronization

/// Halts sending if APNs rejects many tokens. Probes of a few pushes decide when sending may resume (promise 9).
///
/// Rejections that this daemon sees alone halt at once; those that all daemons see together halt within seconds. The
/// halt is a row in the database, so it holds for every daemon.
package final class SendingHalts: Sendable {
    /// What this daemon knows of a ``HaltScope``.
    private struct Scope {
        var watch = AnswerWatch()
        var isHalted = false
    }

    let database: Database
    let logger: Logger
    /// Tokens that one statement revives.
    let batchSize: Int
    /// How long an ordinary push stays with the daemon that has taken it.
    let pushLease: Duration
    /// Identifies the counts of this daemon.
    private let daemon = UUID()
    /// The time since the daemon began, which no change of the clock moves.
    let uptime: @Sendable () -> Duration
    private let scopes = Mutex<[HaltScope: Scope]>([:])

    init(
        database: Database,
        batchSize: Int,
        pushLease: Duration,
        uptime: @escaping @Sendable () -> Duration,
        logger: Logger
    ) {
        self.database = database
        self.batchSize = batchSize
        self.pushLease = pushLease
        self.uptime = uptime
        self.logger = logger
    }

    /// The time by the database's clock, in seconds since 1970, for a push that no segment is responsible for. Nil while
    /// sending is halted.
    package func timeUnlessHalted(_ scope: HaltScope) async throws -> Int64? {
        let rows = try await database.query(
            """
            SELECT extract(epoch FROM clock_timestamp())::int8
            WHERE NOT EXISTS (
                SELECT FROM sending_halts
                WHERE \(part: scope.contains("sending_halts")))
            """
        )
        return try rows.single(Int64.self)
    }

    // MARK: Watching

    /// Answers came; halts if there are too many rejections. `devices` are those that were rejected, and negative
    /// numbers for tokens without a device.
    package func observe(_ count: AnswerWatch.Count, of devices: [Int64], in scope: HaltScope) async {
        let second = uptime().components.seconds
        let excess = scopes.withLock { $0[scope, default: Scope()].watch.observe(count, of: devices, at: second) }
        guard let excess else { return }
        do {
            try await halt(scope, excess)
        } catch {
            // The next answers say the same again.
            logger.error("cannot halt sending", metadata: Self.metadata(scope).merging(["error": "\(error)"]) { $1 })
        }
    }

    /// Tells the other daemons what this one has counted, and halts what all have seen too many rejections of together.
    func share() async throws {
        let counts = scopes.withLock { scopes in
            let second = uptime().components.seconds
            return scopes.keys.compactMap { scope in
                let count = scopes[scope]?.watch.count(at: second) ?? AnswerWatch.Count()
                return count.answers > 0 ? (scope: scope, count: count) : nil
            }
        }
        guard !counts.isEmpty else { return }
        let results = try await database.pipeline([
            """
            INSERT INTO answer_counts (daemon, bundle_id, environment, answers, rejections)
            SELECT \(daemon), c.bundle_id, c.environment::apns_environment, c.answers, c.rejections
            FROM unnest(
                \(counts.map(\.scope.app.rawValue)), \(counts.map(\.scope.environment.rawValue)),
                \(counts.map { Int64($0.count.answers) }), \(counts.map { Int64($0.count.rejections) })
            ) AS c(bundle_id, environment, answers, rejections)
            ON CONFLICT (daemon, bundle_id, environment) DO UPDATE
            SET answers = EXCLUDED.answers, rejections = EXCLUDED.rejections, counted_at = clock_timestamp()
            """,
            "DELETE FROM answer_counts WHERE counted_at < clock_timestamp() - \(AnswerWatch.window)",
            // A daemon without counts for a few seconds is gone, or has nothing to report.
            """
            SELECT bundle_id, environment::text, sum(answers)::int8, sum(rejections)::int8 FROM answer_counts
            WHERE counted_at > clock_timestamp() - interval '5 seconds'
            GROUP BY bundle_id, environment HAVING sum(rejections) > 0
            """,
        ])
        for (app, environment, answers, rejections) in try results[2].decoded(as: (String, String, Int64, Int64).self) {
            let count = AnswerWatch.Count(answers: Int(answers), rejections: Int(rejections))
            let scope = HaltScope(app: BundleID(stored: app), environment: try .stored(environment))
            if count.isExcessive { try await halt(scope, count) }
        }
    }

    /// Whether this daemon holds anything for halted.
    var knowsAny: Bool { scopes.withLock { $0.values.contains(where: \.isHalted) } }

    /// Whether this daemon holds a scope for halted. It does not ask the database.
    package func isHalted(_ scope: HaltScope) -> Bool { scopes.withLock { $0[scope]?.isHalted ?? false } }

    /// This is what is halted now.
    func notice(_ halted: Set<HaltScope>) {
        let known = scopes.withLock { Set($0.filter(\.value.isHalted).keys) }
        for scope in halted.symmetricDifference(known) {
            notice(scope, isHalted: halted.contains(scope))
        }
    }

    /// Counts from before a halt or its end say nothing any more.
    func notice(_ scope: HaltScope, isHalted: Bool) {
        scopes.withLock { $0[scope] = isHalted ? Scope(isHalted: true) : nil }
        Gauge(label: "tally_sending_halted", dimensions: Self.labels(scope)).record(isHalted ? 1 : 0)
    }

    private func halt(_ scope: HaltScope, _ count: AnswerWatch.Count) async throws {
        let isNew = try await database.withTransaction { connection in
            let inserted = try await connection.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                SELECT bundle_id, \(scope.environment.rawValue)::apns_environment, clock_timestamp() - \(AnswerWatch.window),
                       \(Int32(clamping: count.answers)), \(Int32(clamping: count.rejections)),
                       clock_timestamp() + \(AnswerWatch.pause(afterProbes: 0))
                FROM apps WHERE bundle_id = \(scope.app.rawValue)
                ON CONFLICT DO NOTHING
                """
            )
            guard inserted > 0 else { return false }
            let event = Event(
                .providerHalted,
                of: .app(scope.app, scope.environment),
                [
                    "answers": .number(JSONNumber(count.answers)),
                    "rejections": .number(JSONNumber(count.rejections)),
                ]
            )
            _ = try await connection.execute(EventRows.insertion([event]))
            return true
        }
        notice(scope, isHalted: true)
        guard isNew else { return }
        Counter(label: "tally_sending_halts_total", dimensions: Self.labels(scope)).increment()
        logger.critical(
            "sending is halted: APNs rejects too many tokens; look at key, host and topic",
            metadata: Self.metadata(scope)
                .merging(["answers": "\(count.answers)", "rejections": "\(count.rejections)"]) { $1 }
        )
    }

    // MARK: Probing

    /// Takes the next probe; false if it is too early, or another has taken it, or the halt is being lifted. For the
    /// worker of a ring, a few of its tokens are revived.
    package func takeProbe(
        _ scope: HaltScope,
        _ halt: SendingHalt,
        reviving ring: (lease: SegmentLease, range: RingRange)? = nil
    ) async throws -> Bool {
        guard halt.probeIn <= .zero else { return false }
        // Revives tokens in another order than registrations lock them.
        let isTaken = try await database.withYieldingTransaction { connection in
            let rows = try await connection.query(
                """
                UPDATE sending_halts
                SET probes = least(probes + 1, 1000),
                    probe_at = clock_timestamp() + \(AnswerWatch.pause(afterProbes: halt.probes + 1))
                WHERE (bundle_id, environment) IN (
                    SELECT bundle_id, environment FROM sending_halts
                    WHERE \(part: scope.contains("sending_halts"))
                      AND probes = \(Int16(clamping: halt.probes)) AND probe_at <= clock_timestamp() AND lifting IS NULL
                    FOR NO KEY UPDATE SKIP LOCKED
                )
                RETURNING suspect_from
                """
            )
            guard let suspectFrom = try rows.single(PGTimestamp.self) else { return false }
            if let ring {
                let revival = Revival(
                    scope: scope,
                    suspectFrom: suspectFrom,
                    limit: SendingHalt.probeSize,
                    only: ring
                )
                _ = try await connection.pipeline(revival.statements)
            }
            return true
        }
        guard isTaken else { return false }
        scopes.withLock { $0[scope, default: Scope()].watch.beginProbe() }
        return true
    }

    /// The pushes of the probe are answered, or no push left. Returns whether sending resumes.
    package func endProbe(_ scope: HaltScope, _ halt: SendingHalt) async throws -> Bool {
        switch scopes.withLock({ $0[scope, default: Scope()].watch.endProbe() }) {
        case .good:
            return try await lift(scope, because: "probe", reviving: true)
        case .bad:
            logger.warning("tokens are still rejected", metadata: Self.metadata(scope))
            return false
        case .unclear:
            logger.warning("a token is still rejected", metadata: Self.metadata(scope))
            let probes = halt.probes + 1
            try await correct(scope, probes: probes, pause: AnswerWatch.pause(afterUnclearProbes: probes))
            return false
        case .none:
            // It does not count.
            try await correct(scope, probes: halt.probes, pause: .seconds(5))
            return false
        }
    }

    /// A probe was not the bad one for which it was taken. The next one comes after `pause`.
    private func correct(_ scope: HaltScope, probes: Int, pause: Duration) async throws {
        _ = try await database.execute(
            """
            UPDATE sending_halts
            SET probes = \(Int16(clamping: min(probes, 1_000))), probe_at = clock_timestamp() + \(pause)
            WHERE \(part: scope.contains("sending_halts"))
            """
        )
    }

    // MARK: Telling

    private static func labels(_ scope: HaltScope) -> [(String, String)] {
        [("app", scope.app.rawValue), ("environment", scope.environment.rawValue)]
    }

    static func metadata(_ scope: HaltScope) -> Logger.Metadata {
        ["app": "\(scope.app)", "environment": "\(scope.environment.rawValue)"]
    }
}
