import APNSTransport
import ActivityModel
import BenchSupport
import Cryptography
import EnginePrototype
import JSON
import Logging
import Delivery
import Postgres
import Synchronization

/// One daemon of the prototype on a database, with a client like the product's.
struct Stage: Sendable {
    static let logger = {
        var logger = Logger(label: "bench") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }()

    /// Every statement is planned once and finds its rows by an index.
    private static let settings = [
        "plan_cache_mode%3Dforce_generic_plan", "enable_seqscan%3Doff", "enable_hashjoin%3Doff",
        "enable_mergejoin%3Doff", "jit%3Doff", "search_path%3Dprototype,public",
    ]

    let database: Database
    let client: APNSClient
    let sender: CountingSender
    let store: Store
    let engine: Engine

    init(_ options: Options) throws {
        var pool = Database.Configuration()
        pool.maximumConnections = 16
        pool.applicationName = "prototype"
        database = try Database(
            url: options.text("database")
                + "?options=" + Self.settings.map { "-c%20\($0)" }.joined(separator: "%20"),
            configuration: pool,
            logger: Self.logger
        )
        var endpoints = APNSEndpoints()
        let port = UInt16(clamping: try options.number("port"))
        endpoints[.production, .device] = APNSEndpoint(host: "localhost", port: port)
        endpoints[.production, .broadcast] = APNSEndpoint(host: "localhost", port: port)
        client = try APNSClient(
            endpoints: endpoints,
            caFile: options.text("ca"),
            logger: Self.logger,
            metrics: CountingMetrics()
        )
        sender = CountingSender(client)
        store = Store(database)
        engine = Engine(
            store,
            sender: sender,
            common: Engine.Common(
                identity: SigningIdentity(
                    teamID: TeamID(stored: "ABCDE12345"),
                    keyID: KeyID(stored: "FGHIJ67890"),
                    privateKey: try P256PrivateKey.generate()
                ),
                bundleID: BundleID(stored: "com.example.matchday"),
                expiration: 1_800_000_000
            ),
            logger: Self.logger
        )
    }

    /// Serves while `body` runs. It begins when this daemon owns so many partitions.
    func whileServing<R: Sendable>(
        owning count: Int,
        _ body: @Sendable @escaping () async throws -> R
    ) async throws -> R {
        let service = Task { try await engine.run() }
        while engine.ownedPartitions < count { try await Task.sleep(for: .milliseconds(20)) }
        let result = try await body()
        service.cancel()
        try await service.value
        await client.shutDown()
        await database.shutDown()
        return result
    }

    // MARK: Rows

    static func activity(_ number: Int) -> String { "match-\(number)" }

    /// A state that says a number of up to seven digits; with it the body of an update has 400 bytes.
    static func content(_ number: Int, filling: String = Self.filling) -> [UInt8] {
        CompactJSON(
            .object(
                JSONObject([
                    ("clock", .number(JSONNumber(Int64(1_000_000 + number)))),
                    ("home_score", .number(JSONNumber(Int64(3)))), ("period", .string("penalties")),
                    ("last_event", .string(filling)),
                ])
            )
        ).bytes
    }

    private static let filling: String = {
        let empty = LiveActivityBody.Content(contentState: CompactJSON(stored: content(0, filling: "")))
        let without = LiveActivityBody.update(empty, timestamp: 1_763_700_000).count
        return String(String(repeating: "Mbappe scores. ", count: 400 / 15).prefix(400 - without))
    }()

    func script(_ sql: String) async throws {
        try await database.withConnection { try await $0.executeScript(sql, timeout: .seconds(900)) }
    }

    /// Makes the tables, and so many activities with so many phones each; or with a channel each.
    func prepare(activities: Int, phones: Int, isChannel: Bool = false) async throws {
        try await script(Tables.script)
        let audience = isChannel ? "channel" : phones > 64 ? "ring" : "cards"
        try await script(
            """
            INSERT INTO activities (activity_key, activity_id, partition, type_key, audience, channel_id, sent_revision)
            SELECT n, 'match-' || n, n % 64, 1, '\(audience)',
                   CASE WHEN '\(audience)' = 'channel' THEN 'dHN0LXNyY2gtY2hubA==' END, 1
            FROM generate_series(1, \(activities)) AS n;
            INSERT INTO changes SELECT n, 1, n % 64, false, 0, 0, pg_current_xact_id(), '{}'
            FROM generate_series(1, \(activities)) AS n;
            INSERT INTO rings (activity_key, completed)
            SELECT n, 1 FROM generate_series(1, \(activities)) AS n WHERE '\(audience)' = 'ring';
            INSERT INTO cards (activity_key, device_key, token)
            SELECT (n - 1) / \(max(phones, 1)) + 1, n, int8send(n) || sha512(int8send(n)) || int8send(n)
            FROM generate_series(1, \(isChannel ? 0 : activities * phones)) AS n;
            """
        )
        for statement in ["VACUUM (ANALYZE, FREEZE)", "CHECKPOINT"] { try await script(statement) }
    }
}

/// The transport, with a count of the pushes that were answered.
final class CountingSender: PushSender {
    private struct State {
        var accepted = 0
        var refused = 0
        var broadcasts = 0
        var last = ContinuousClock.now
        var awaited: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    let base: any PushSender
    private let state = Mutex(State())
    private let heard: Mutex<(@Sendable ([UInt8]) -> Void)?> = Mutex(nil)

    init(_ base: any PushSender) { self.base = base }

    var refused: Int { state.withLock(\.refused) }

    func reset() { state.withLock { $0 = State() } }

    /// Calls this with each body that APNs accepted.
    func listen(_ body: @escaping @Sendable ([UInt8]) -> Void) { heard.withLock { $0 = body } }

    /// Waits until so many pushes were answered since the last reset; the moment of the last answer.
    func wait(_ count: Int) async -> ContinuousClock.Instant {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.accepted + state.refused >= count { return true }
                state.awaited = (count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
        return state.withLock(\.last)
    }

    private func note(accepted: Int, refused: Int) {
        let now = ContinuousClock.now
        let awaited = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.accepted += accepted
            state.refused += refused
            state.last = now
            guard let awaited = state.awaited, state.accepted + state.refused >= awaited.count else { return nil }
            state.awaited = nil
            return awaited.continuation
        }
        awaited?.resume()
    }

    func send(_ batch: PushBatch) async -> BatchOutcome {
        let outcome = await base.send(batch)
        note(accepted: outcome.accepted, refused: outcome.exceptions.count)
        if outcome.accepted > 0, let heard = heard.withLock({ $0 }) { heard(batch.body) }
        return outcome
    }

    func broadcast(_ push: BroadcastPush) async -> PushOutcome {
        let outcome = await base.broadcast(push)
        note(accepted: outcome.isAccepted ? 1 : 0, refused: outcome.isAccepted ? 0 : 1)
        return outcome
    }
}
