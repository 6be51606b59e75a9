package import APITypes
package import ActivityModel
import Cryptography
package import JSON
package import Postgres
package import Record
package import Store
package import TestSupport
package import Testing

@testable import Intake
@testable import Delivery
@testable import DeliveryStore
@testable package import Orchestrator

/// An orchestrator on a database of its own, with the app `com.example.app` and the type `Game`; its segments are
/// worked on when the test says so, and time passes when the test says so.
package struct World: Sendable {
    package let orchestrator: Orchestrator
    package let recorder: Recorder
    package let app: BundleID

    package static let game = ActivityTypeName(stored: "Game")

    package var database: Database { orchestrator.database }
    /// What the engine keeps, as tests ask about it.
    package var tables: EngineTables { EngineTables(database) }

    /// Works on everything that is due, until all segments rest or wait.
    package func settle(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for _ in 0..<300 {
            try await orchestrator.deliveryStore.segments.takeAnnouncements()
            let leases = try await orchestrator.deliveryStore.segments.claim(limit: 100)
            if leases.isEmpty { return }
            for lease in leases {
                let segments = [LeasedSegment(lease: lease)]
                _ = await SegmentGroup(room: orchestrator.delivery, slot: nil, segments: segments).run()
            }
        }
        Issue.record("The segments never come to rest.", sourceLocation: sourceLocation)
    }

    /// Looks after one batch of cards that are due, and returns when the apps that it wakes, and the cards that it ends,
    /// were answered.
    ///
    /// - Returns: How many there were.
    package func watchCards() async throws -> Int {
        let old = try await OldCards.claim(orchestrator.delivery)
        await old.send()
        let look = try await CardWatcher(room: orchestrator.delivery).look(mostWakes: CardWatcher.wakesAtOnce)
        await withDiscardingTaskGroup { group in
            for wakes in look.wakes {
                group.addTask { await wakes.send() }
            }
        }
        return old.count + look.count
    }

    /// As if so much time had passed: everything in the database happened so much earlier. Leases stay as they are.
    package func pass(_ seconds: Int64) async throws {
        let columns: [(table: String, times: [String], stamps: [String])] = [
            (
                "activities", ["created_at", "started_at", "ended_at", "starts_at", "ends_at"],
                ["stamp", "fresh_stamp"]
            ),
            ("changes", ["stamped_at", "accepted_at"], ["timestamp"]),
            ("starts", ["due_at", "claimed_at"], []),
            ("start_tokens", ["registered_at"], []),
            ("subscriptions", ["due_at", "registered_at", "started_at", "check_at", "shown_at", "pending_since"], []),
            ("continuations", ["started_at", "due_at"], []),
            ("segments", ["due_at", "retry_at", "pushed_at"], ["alert_stamp"]),
            ("budget_ledger", ["decided_at"], []),
            ("timeline", ["at"], []),
            ("channels", ["created_at", "ready_at", "delete_at", "deleted_at", "lost_at", "starts_until"], []),
            ("unknown_channels", ["first_seen_at"], []),
            ("channel_sweeps", ["due_at", "lease_until", "reconciled_at"], []),
            ("schedules", ["due_at", "lease_until", "created_at", "settled_at", "heard_at"], []),
            ("apps", ["created_at"], []),
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
    package func hurry() async throws {
        _ = try await database.pipeline(
            [("starts", "due_at"), ("subscriptions", "due_at"), ("segments", "due_at"), ("channels", "delete_at")].map {
                Query(unescaped: "UPDATE \($0) SET \($1) = now() WHERE \($1) > now()")
            }
        )
    }

    /// As if every daemon had been silent for as long as its leases last.
    package func expireLeases() async throws {
        try await database.execute(
            "UPDATE segments SET lease_until = now() - interval '1 second' WHERE lease_owner IS NOT NULL"
        )
    }

    /// As if so many changes had come at once that the next stamp would run ahead of the clock.
    package func exhaustStamps() async throws {
        try await database.execute(
            "UPDATE activities SET stamp = floor(extract(epoch FROM clock_timestamp()))::int8 + 4"
        )
    }

    // MARK: What a backend does

    @discardableResult
    package func start(
        _ id: String = "final",
        to audience: Audience = Audience(),
        delivery: Delivery = .tokens,
        score: Int64 = 0,
        alert: String? = "Kick-off",
        origin: RequestOrigin? = nil,
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
        let started = try await orchestrator.intake.start(app, ActivityID(stored: id), request, origin: origin)
        return (started.answer, started.isReplay)
    }

    @discardableResult
    package func update(
        _ id: String = "final",
        score: Int64,
        alert: String? = nil,
        mustDeliver: Bool = false,
        key: IdempotencyKey? = nil,
        origin: RequestOrigin? = nil,
        _ change: (inout UpdateRequest) -> Void = { _ in }
    ) async throws -> Accepted {
        var request = UpdateRequest(
            contentState: Self.state(score),
            alert: alert.map(Self.alert),
            mustDeliver: mustDeliver
        )
        change(&request)
        let given = try await orchestrator.intake.update(
            app,
            ActivityID(stored: id),
            request,
            idempotency: key,
            origin: origin
        )
        return try Accepted(given.answer)
    }

    @discardableResult
    package func end(_ id: String = "final", score: Int64? = nil, alert: String? = nil) async throws -> Accepted {
        let request = EndRequest(contentState: score.map(Self.state), alert: alert.map(Self.alert))
        return try Accepted(await orchestrator.intake.end(app, ActivityID(stored: id), request, origin: nil).answer)
    }

    /// Updates until the newest revision is this one, and its state the largest that is taken: it has a note of as many
    /// letters as fit.
    package func updateToLargestState(as revision: Revision) async throws {
        for number in 2..<revision { try await update(score: 0) { $0.contentState["note"] = .string("\(number)") } }
        var length = 6_000
        while let refused = try await problem({
            try await update(score: 0) { $0.contentState["note"] = .string(String(repeating: "x", count: length)) }
        }) {
            let bytes = try #require(refused.extra["bytes"]?.int64)
            let limit = try #require(refused.extra["limit"]?.int64)
            length -= Int(bytes - limit)
        }
    }

    package func show(_ id: String = "final") async throws -> ActivityResource {
        try await orchestrator.activity(app, ActivityID(stored: id))
    }

    // MARK: What an app does

    /// Registers a device with a start token.
    package func register(
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
        _ = try await orchestrator.intake.putDevice(app, DeviceID(stored: device), request)
    }

    /// Gives the app a key for the sandbox, too.
    package func addSandbox() async throws {
        var request = AppRequest.production(key: nil)
        request.environments[.sandbox] = SigningKeyRequest(
            keyID: KeyID(stored: "SANDBOX123"),
            privateKey: try P256PrivateKey.generate().pem()
        )
        _ = try await orchestrator.putApp(app, request)
    }

    /// Reports a card by its update token; `card` is the id that ActivityKit gave it. One that is `pending` has not begun.
    @discardableResult
    package func follow(
        _ device: String,
        token: String,
        in id: String = "final",
        known: Revision? = nil,
        generation: Int64? = nil,
        card: String? = nil,
        pending: Bool = false,
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
            pending: pending,
            installation: installation,
            on: environment
        )
    }

    @discardableResult
    package func report(
        _ device: String,
        _ report: SubscriptionRequest.Report,
        in id: String = "final",
        known: Revision? = nil,
        generation: Int64? = nil,
        card: String? = nil,
        pending: Bool = false,
        installation: String? = nil,
        on environment: APNSEnvironment = .production
    ) async throws -> SubscriptionAnswer {
        try await orchestrator.intake.subscribe(
            app,
            ActivityID(stored: id),
            DeviceID(stored: device),
            SubscriptionRequest(
                report,
                isPending: pending,
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

    package func word(_ query: Query) async throws -> String? {
        try await database.query(query).first(as: String?.self) ?? nil
    }

    package func number(_ query: Query) async throws -> Int64? {
        try await database.query(query).first(as: Int64?.self) ?? nil
    }

    /// How many rows of a table the only connection has read until now.
    package func rowsRead(_ table: String) async throws -> Int64 {
        _ = try await database.query("SELECT pg_stat_force_next_flush()")
        return try await number(
            "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = \(table)"
        ) ?? 0
    }

    /// All events of some kinds, or of all. The tests share one cluster, whose other transactions hold the order of
    /// events open; so this waits until everything that has been committed by now can be read.
    package func events(_ kinds: Event.Kind...) async throws -> [EventRecord] {
        let now = try await transaction()
        let filter = EventFilter(kinds: kinds.isEmpty ? nil : Set(kinds))
        return try await eventually("every transaction before this ends", every: .milliseconds(2)) {
            let page = try await orchestrator.record.events.page(after: .oldest, matching: filter, limit: 1_000)
            return page.next.transaction > now ? page.events : nil
        }
    }

    /// The database's number of a transaction that begins now.
    package func transaction() async throws -> UInt64 {
        try await word("SELECT pg_current_xact_id()::text").flatMap { UInt64($0) } ?? 0
    }

    /// The state of a device's card.
    package func subscription(_ device: String) async throws -> String? { try await tables.card(of: device)?.state }

    package func startState(_ device: String) async throws -> String? {
        try await tables.starts().first { $0.device == device }?.state
    }

    /// Whether nothing is due, now or later, and nobody is at work.
    package func isAtRest(_ way: EngineTables.Way? = nil) async throws -> Bool { try await tables.isAtRest(way) }

    /// Whether a push of its own waits for a device.
    package func pending(for device: String) async throws -> Bool { try await tables.pending(for: device) }

    /// How many changes must reach everybody before anything newer, and have not yet.
    package func openBarriers() async throws -> Int { try await tables.openBarriers() }

    // MARK: Words

    package static func state(_ score: Int64) -> JSONObject { JSONObject([("score", .number(JSONNumber(score)))]) }

    package static func alert(_ title: String) -> AlertContent {
        AlertContent(title: .plain(title), body: .plain("Look"))
    }

    package static func devices(_ ids: String...) -> Audience { Audience(devices: ids.map { DeviceID(stored: $0) }) }
}

/// The answer to a change that was accepted.
package struct Accepted: Equatable {
    package let revision: Revision
    package let timestamp: Timestamp?
    package let isUnchanged: Bool

    package struct IsScheduled: Error {
        package init() {}
    }

    package init(_ answer: ChangeAnswer) throws {
        guard case .accepted(_, let revision, let timestamp, let isUnchanged) = answer else { throw IsScheduled() }
        self.revision = revision
        self.timestamp = timestamp
        self.isUnchanged = isUnchanged
    }
}
