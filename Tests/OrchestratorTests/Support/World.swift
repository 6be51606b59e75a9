import APITypes
import APNSTransport
import ActivityModel
import Cryptography
import JSON
import Logging
import Metrics
import Postgres
import Schema
import Synchronization
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

/// An orchestrator on a database of its own, with the app `com.example.app` and the type `Game`; its segments are
/// worked on when the test says so, and time passes when the test says so.
struct World: Sendable {
    let orchestrator: Orchestrator
    let recorder: Recorder
    let app: BundleID

    static let game = ActivityTypeName(stored: "Game")

    var database: Database { orchestrator.database }

    /// An activity as its first ring sees it.
    func snapshot(of activityKey: Int64) async throws -> ActivitySnapshot? {
        let rows = try await database.query(ActivitySnapshot.selection(activityKey, for: SegmentRows.firstRing))
        return try ActivitySnapshot.read(activityKey, rows)
    }

    /// Turns the whole audience of an activity into starts, as if it had just changed, and sends nothing.
    func enrol(_ activityKey: Int64) async throws {
        _ = try await database.pipeline([
            """
            UPDATE activities SET enrolment_due = true, enrolled_members = 0, enrolled_devices = least(enrolled_devices, 0) - 1
            WHERE activity_key = \(activityKey)
            """,
            "UPDATE segments SET due_at = now() WHERE activity_key = \(activityKey) AND segment = 0",
        ])
        let leases = try await orchestrator.segments.claim(limit: 1)
        let lease = try #require(leases.first)
        while let activity = try await snapshot(of: activityKey), activity.enrolment != nil {
            _ = try await orchestrator.enrolStretch(of: activity, under: lease)
        }
        try await orchestrator.segments.release(lease)
    }

    /// Works on everything that is due, until all segments rest or wait.
    func settle(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for _ in 0..<300 {
            try await orchestrator.segments.takeAnnouncements()
            let leases = try await orchestrator.segments.claim(limit: 100)
            if leases.isEmpty { return }
            for lease in leases {
                _ = await SegmentGroup(orchestrator: orchestrator, segments: [LeasedSegment(lease: lease)]).run()
            }
        }
        Issue.record("The segments never come to rest.", sourceLocation: sourceLocation)
    }

    /// Looks after one batch of cards that are due, and returns when the apps that it wakes were answered.
    ///
    /// - Returns: How many there were.
    func watchCards() async throws -> Int {
        let look = try await CardWatcher(orchestrator: orchestrator).look(mostWakes: CardWatcher.wakesAtOnce)
        await withDiscardingTaskGroup { group in
            for wakes in look.wakes {
                group.addTask { await wakes.send() }
            }
        }
        return look.count
    }

    /// As if so much time had passed: everything in the database happened so much earlier. Leases stay as they are.
    func pass(_ seconds: Int64) async throws {
        let columns: [(table: String, times: [String], stamps: [String])] = [
            (
                "activities", ["created_at", "started_at", "ended_at", "starts_at", "ends_at"],
                ["stamp", "fresh_stamp"]
            ),
            ("changes", ["stamped_at", "accepted_at"], ["timestamp"]),
            ("starts", ["due_at", "claimed_at"], []),
            ("start_tokens", ["registered_at"], []),
            ("subscriptions", ["due_at", "registered_at", "started_at", "check_at"], []),
            ("segments", ["due_at", "retry_at", "pushed_at"], ["alert_stamp"]),
            ("budget_ledger", ["decided_at"], []),
            ("timeline", ["at"], []),
            ("channels", ["created_at", "ready_at", "delete_at", "deleted_at", "lost_at", "starts_until"], []),
            ("unknown_channels", ["first_seen_at"], []),
            ("channel_sweeps", ["due_at", "lease_until", "reconciled_at"], []),
            ("schedules", ["due_at", "lease_until", "created_at", "settled_at"], []),
            ("idempotency_keys", ["created_at"], []),
        ]
        _ = try await database.pipeline(
            columns.map { table, times, stamps in
                let assignments =
                    times.map { "\($0) = \($0) - interval '\(seconds) seconds'" }
                    + stamps.map { "\($0) = CASE WHEN \($0) > 0 THEN \($0) - \(seconds) ELSE \($0) END" }
                return Query(unescaped: "UPDATE \(table) SET \(assignments.joined(separator: ", "))")
            }
        )
        recorder.passTime(seconds)
    }

    /// Makes everything due now that waits for its time, without time passing.
    func hurry() async throws {
        _ = try await database.pipeline(
            [("starts", "due_at"), ("subscriptions", "due_at"), ("segments", "due_at"), ("channels", "delete_at")].map {
                Query(unescaped: "UPDATE \($0) SET \($1) = now() WHERE \($1) > now()")
            }
        )
    }

    /// As if every daemon had been silent for as long as its leases last.
    func expireLeases() async throws {
        try await database.execute(
            "UPDATE segments SET lease_until = now() - interval '1 second' WHERE lease_owner IS NOT NULL"
        )
    }

    /// As if so many changes had come at once that the next stamp would run ahead of the clock.
    func exhaustStamps() async throws {
        try await database.execute(
            "UPDATE activities SET stamp = floor(extract(epoch FROM clock_timestamp()))::int8 + 4"
        )
    }

    // MARK: What a backend does

    @discardableResult
    func start(
        _ id: String = "final",
        to audience: Audience = Audience(),
        delivery: Delivery = .tokens,
        score: Int64 = 0,
        alert: String? = "Kick-off",
        _ change: (inout StartRequest) -> Void = { _ in }
    ) async throws -> (answer: StartAnswer, replay: Bool) {
        var request = StartRequest(
            type: Self.game,
            attributes: JSONObject([("home", .string("Argentina"))]),
            contentState: Self.state(score),
            audience: audience,
            delivery: delivery,
            alert: alert.map(Self.alert)
        )
        change(&request)
        return try await orchestrator.start(app, ActivityID(stored: id), request)
    }

    @discardableResult
    func update(
        _ id: String = "final",
        score: Int64,
        alert: String? = nil,
        mustDeliver: Bool = false,
        key: IdempotencyKey? = nil,
        _ change: (inout UpdateRequest) -> Void = { _ in }
    ) async throws -> Accepted {
        var request = UpdateRequest(
            contentState: Self.state(score),
            alert: alert.map(Self.alert),
            mustDeliver: mustDeliver
        )
        change(&request)
        return try Accepted(await orchestrator.update(app, ActivityID(stored: id), request, idempotency: key))
    }

    @discardableResult
    func end(_ id: String = "final", score: Int64? = nil, alert: String? = nil) async throws -> Accepted {
        let request = EndRequest(contentState: score.map(Self.state), alert: alert.map(Self.alert))
        return try Accepted(await orchestrator.end(app, ActivityID(stored: id), request))
    }

    func show(_ id: String = "final") async throws -> ActivityResource {
        try await orchestrator.activity(app, ActivityID(stored: id))
    }

    // MARK: What an app does

    /// Registers a device with a start token.
    func register(
        _ device: String,
        token: String? = nil,
        user: String? = nil,
        os: String? = "18.1",
        frequent: Bool = false,
        enabled: Bool = true,
        deviceToken: String? = nil,
        on environment: APNSEnvironment = .production
    ) async throws {
        var request = DeviceRequest(environment: environment)
        request.user = ReportedUser(known: user.map { UserID(stored: $0) })
        request.osVersion = os.flatMap { OSVersion($0) }
        request.frequentPushesEnabled = frequent
        request.activitiesEnabled = enabled
        request.deviceToken = try deviceToken.map { try #require(PushToken(hex: $0)) }
        if let token {
            request.startTokens = [Self.game: StartTokenRequest(token: try #require(PushToken(hex: token)))]
        }
        _ = try await orchestrator.putDevice(app, DeviceID(stored: device), request)
    }

    /// Gives the app a key for the sandbox, too.
    func addSandbox() async throws {
        var request = AppRequest.production(key: nil)
        request.environments[.sandbox] = SigningKeyRequest(
            keyID: KeyID(stored: "SANDBOX123"),
            privateKey: try P256PrivateKey.generate().pem()
        )
        _ = try await orchestrator.putApp(app, request)
    }

    /// Reports a card by its update token; `card` is the id that ActivityKit gave it.
    @discardableResult
    func follow(
        _ device: String,
        token: String,
        in id: String = "final",
        known: Revision? = nil,
        generation: Int64? = nil,
        card: String? = nil,
        installation: String? = nil,
        on environment: APNSEnvironment = .production
    ) async throws -> SubscriptionAnswer {
        try await report(
            device,
            .updateToken(try #require(PushToken(hex: token))),
            in: id,
            known: known,
            generation: generation,
            card: card,
            installation: installation,
            on: environment
        )
    }

    @discardableResult
    func report(
        _ device: String,
        _ report: SubscriptionRequest.Report,
        in id: String = "final",
        known: Revision? = nil,
        generation: Int64? = nil,
        card: String? = nil,
        installation: String? = nil,
        on environment: APNSEnvironment = .production
    ) async throws -> SubscriptionAnswer {
        try await orchestrator.subscribe(
            app,
            ActivityID(stored: id),
            DeviceID(stored: device),
            SubscriptionRequest(
                report,
                generation: generation,
                knownRevision: known,
                activityKitID: card,
                environment: environment,
                osVersion: OSVersion("18.1"),
                installation: installation
            )
        )
    }

    // MARK: What the tables say

    func word(_ query: Query) async throws -> String? {
        try await database.query(query).first(as: String?.self) ?? nil
    }

    func number(_ query: Query) async throws -> Int64? {
        try await database.query(query).first(as: Int64?.self) ?? nil
    }

    /// All events of some kinds, or of all. The tests share one cluster, whose other transactions hold the order of
    /// events open; so this waits until everything that has been committed by now can be read.
    func events(_ kinds: Event.Kind...) async throws -> [EventRecord] {
        let now = try await transaction()
        let filter = EventFilter(kinds: kinds.isEmpty ? nil : Set(kinds))
        return try await eventually("every transaction before this ends", every: .milliseconds(2)) {
            let page = try await orchestrator.eventStore.page(after: .oldest, matching: filter, limit: 1_000)
            return page.next.transaction > now ? page.events : nil
        }
    }

    /// The database's number of a transaction that begins now.
    func transaction() async throws -> UInt64 {
        try await word("SELECT pg_current_xact_id()::text").flatMap { UInt64($0) } ?? 0
    }

    func subscription(_ device: String) async throws -> String? {
        try await word(
            """
            SELECT s.state::text FROM subscriptions AS s JOIN devices AS d USING (device_key)
            WHERE d.device_id = \(device)
            """
        )
    }

    func startState(_ device: String) async throws -> String? {
        try await word(
            "SELECT s.state::text FROM starts AS s JOIN devices AS d USING (device_key) WHERE d.device_id = \(device)"
        )
    }

    // MARK: Words

    static func state(_ score: Int64) -> JSONObject { JSONObject([("score", .number(JSONNumber(score)))]) }

    static func alert(_ title: String) -> AlertContent { AlertContent(title: .plain(title), body: .plain("Look")) }

    static func devices(_ ids: String...) -> Audience { Audience(devices: ids.map { DeviceID(stored: $0) }) }
}

/// The answer to a change that was accepted.
struct Accepted: Equatable {
    let revision: Revision
    let timestamp: Timestamp?
    let isUnchanged: Bool

    struct IsScheduled: Error {}

    init(_ answer: ChangeAnswer) throws {
        guard case .accepted(_, let revision, let timestamp, let isUnchanged) = answer else { throw IsScheduled() }
        self.revision = revision
        self.timestamp = timestamp
        self.isUnchanged = isUnchanged
    }
}

/// Lends a world whose intake runs; or one in which nothing runs and the test runs the services, if it `isAlive`.
func withWorld(
    policy change: (inout Policy) -> Void = { _ in },
    settings: OrchestratorSettings = OrchestratorSettings(),
    isAlive: Bool = false,
    connections: Int = 10,
    _ body: (World) async throws -> Void
) async throws {
    let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
    var policy = Policy()
    change(&policy)
    await Turnstile.shared.enter()
    defer { Turnstile.shared.leave() }
    var configuration = Database.Configuration.patient
    configuration.maximumConnections = connections
    try await withDatabase(migrations: migrations, configuration: configuration) { [policy] database in
        let world = World(
            orchestrator: .test(on: database, Recorder(), settings: settings),
            app: BundleID(stored: "com.example.app")
        )
        try await world.prepare(policy)
        if isAlive {
            try await body(world)
        } else {
            try await world.withIntake { try await body(world) }
        }
    }
}

/// Lets a few tests at a time work on the database: they look at the clock, which goes on while they wait for a
/// processor.
private final class Turnstile: Sendable {
    static let shared = Turnstile()

    private struct State {
        var free = 4
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func enter() async {
        await withCheckedContinuation { continuation in
            let mayEnter = state.withLock { state in
                if state.free == 0 {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if mayEnter { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiting.isEmpty {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}

extension World {
    init(orchestrator: Orchestrator, app: BundleID) {
        // Every orchestrator of these tests sends to a recorder.
        self.init(
            orchestrator: orchestrator,
            recorder: orchestrator.sender as? Recorder ?? Recorder(),
            app: app
        )
    }

    /// Another daemon on the same database, with the same key and sender; what it asks of the database passes a gate.
    func sibling(
        settings: OrchestratorSettings? = nil,
        behind gate: StatementGate? = nil,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) -> World {
        World(
            orchestrator: Orchestrator(
                database: gate.map { Database(database, behind: $0) } ?? database,
                sender: recorder,
                masterKeys: orchestrator.masterKeys,
                settings: settings ?? orchestrator.settings,
                logger: orchestrator.logger,
                metrics: metrics
            ),
            app: app
        )
    }

    func withIntake(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { await orchestrator.intake.run() }
            try await body()
            group.cancelAll()
        }
    }

    fileprivate func prepare(_ policy: Policy) async throws {
        _ = try await orchestrator.putApp(app, .production(key: P256PrivateKey.generate().pem()))
        let state =
            #"{"type":"object","properties":{"score":{"type":"integer"},"note":{"type":"string"}},"required":["score"]}"#
        let attributes = #"{"type":"object","properties":{"home":{"type":"string"}},"required":["home"]}"#
        _ = try await orchestrator.putType(
            app,
            Self.game,
            TypeRequest(
                source: .schemas(attributes: try json(attributes), contentState: try json(state)),
                policy: policy
            ),
            force: false
        )
    }
}

extension Orchestrator {
    static func test(on database: Database, _ recorder: Recorder, settings: OrchestratorSettings) -> Orchestrator {
        Orchestrator(
            database: database,
            sender: recorder,
            masterKeys: MasterKeys(.generate()),
            settings: settings,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}

extension PushOutcome {
    static let unavailable = PushOutcome(.retry, status: 503, reason: "ServiceUnavailable")
    static let tooMany = PushOutcome(.retry, status: 429, reason: "TooManyRequests")
    static let badToken = PushOutcome(.tokenRejected, status: 400, reason: "BadDeviceToken")
    static let channelNotRegistered = PushOutcome(.channelGone, status: 400, reason: "ChannelNotRegistered")
    static let noAnswer = PushOutcome(.unknown)
    static let notSent = PushOutcome(.notSent)
    static let badKey = PushOutcome(.credential, status: 403, reason: "InvalidProviderToken")

    static func unregistered(at milliseconds: Int64?) -> PushOutcome {
        PushOutcome(.tokenDead(at: milliseconds), status: 410, reason: "Unregistered")
    }
}

extension World {
    /// Registers many cards at once, which ride on the ring of the activity `final` and have its first revision. Their
    /// tokens are `7000…`, in the order of the ring.
    func crowd(_ count: Int) async throws {
        _ = try await database.execute(
            """
            WITH crowd AS (
                INSERT INTO devices (bundle_id, device_id, environment)
                SELECT \(app.rawValue), 'crowd' || n, 'production' FROM generate_series(1, \(count)) AS n
                RETURNING device_key, substr(device_id, 6)::int AS n
            )
            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision)
            SELECT a.activity_key, c.device_key, 'token', 'riding', decode('70' || lpad(c.n::text, 6, '0'), 'hex'), 1
            FROM crowd AS c CROSS JOIN activities AS a WHERE a.activity_id = 'final' ORDER BY c.n
            """
        )
    }

    /// The token of one of the crowd.
    static func crowdToken(_ number: Int) -> String {
        let digits = String(number)
        return "70" + String(repeating: "0", count: 6 - digits.count) + digits
    }
}
