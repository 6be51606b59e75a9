import APITypes
import ActivityModel
import Cryptography
import JSON
import OrchestratorTestSupport
import Postgres
import Registry
import ReportTypes
import TestSupport
import Testing

@testable import Channels
@testable import Delivery
@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Audit log", .timeLimit(.minutes(2)))
struct AuditTests {
    /// Acts as the bearer of a key.
    private func acting<Result>(
        as keyID: String = Principal.bootstrapKeyID,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await Caller(keyID: keyID, requestID: "request-1").acting(body)
    }

    private func entries(
        _ orchestrator: Orchestrator,
        _ filter: AuditFilter = AuditFilter()
    ) async throws -> [AuditEntry] {
        try await orchestrator.audit(filter, PageRequest(), only: nil).items
    }

    @Test("Every action of an operator is on record: who, what, and how it stood before and after")
    func actions() async throws {
        try await withWorld { world in
            let orchestrator = world.orchestrator
            let app = world.app
            let key = try await orchestrator.createAPIKey(APIKeyRequest(name: "ops", scopes: [.admin]))
            #expect(try await entries(orchestrator).isEmpty)
            try await world.start()
            try await world.register("phone-of-someone")
            var request = UpdateRequest(contentState: World.state(1))
            request.at = Instant(unixSeconds: 4_000_000_000)
            func schedule() async throws -> String {
                let answer = try await orchestrator.intake.update(
                    app,
                    ActivityID(stored: "final"),
                    request,
                    origin: nil
                )
                guard case .scheduled(let id) = answer.answer else { throw Accepted.IsScheduled() }
                return id
            }
            let (cancelled, run) = (try await schedule(), try await schedule())
            try await world.tables.halt(app.rawValue)
            try await acting(as: key.id) {
                _ = try await orchestrator.putApp(app, .production(key: P256PrivateKey.generate().pem()))
                var policy = Policy()
                policy.wakeAfterSeconds = 60
                let schemas = TypeRequest.Source.schemas(attributes: [:], contentState: [:])
                let type = TypeRequest(source: schemas, policy: policy)
                _ = try await orchestrator.putType(app, World.game, type, force: true)
                let made = try await orchestrator.createAPIKey(
                    APIKeyRequest(name: "app", scopes: [.read], bundleID: app)
                )
                try await orchestrator.revokeAPIKey(made.id, only: nil)
                let channel = try await orchestrator.createChannel(app, ChannelRequest(storage: .none)).answer
                try await orchestrator.deleteChannel(app, channel.id)
                try await orchestrator.cancelSchedule(app, cancelled)
                _ = try await orchestrator.runSchedule(app, run)
                try await orchestrator.liftHalt(app, .production, reviving: true)
                try await orchestrator.eraseUser(app, UserID(stored: "fan-of-someone"))
                try await orchestrator.deleteDevice(app, DeviceID(stored: "phone-of-someone"))
                let ticket = RegistrationTicketRequest(
                    environment: .production,
                    deviceID: DeviceID(stored: "phone-of-someone"),
                    userID: UserID(stored: "fan-of-someone"),
                    ttlSeconds: 60
                )
                _ = try await orchestrator.createTicket(app, ticket)
                let signer = try await orchestrator.createTicketKey(app, TicketKeyRequest(algorithm: .hs256))
                try await orchestrator.revokeTicketKey(app, signer.id, afterSeconds: 0)
                let revocation = TicketRevocationRequest(revokedBefore: Instant(unixSeconds: 1_700_000_000))
                _ = try await orchestrator.revokeTickets(app, of: .user(UserID(stored: "fan-of-someone")), revocation)
                let hook = WebhookID(stored: "audit")
                _ = try await orchestrator.putWebhook(app, hook, WebhookRequest(url: "https://hooks.example.com"))
                _ = try await orchestrator.replayWebhook(
                    app,
                    hook,
                    WebhookReplayRequest(since: Instant(unixSeconds: 1_700_000_000))
                )
                try await orchestrator.deleteWebhook(app, hook)
                try await world.end()
                _ = try await orchestrator.reconcileChannels(app, ReconcileRequest())
                try await orchestrator.deleteApp(app)
            }
            let entries = try await entries(orchestrator)
            #expect(
                entries.reversed().map(\.action) == [
                    "app_changed", "type_changed", "api_key_created", "api_key_revoked", "channel_created",
                    "channel_deleted", "schedule_cancelled", "schedule_run", "halt_lifted", "user_erased",
                    "device_deleted", "ticket_issued", "ticket_key_created", "ticket_key_revoked", "tickets_revoked",
                    "webhook_changed", "webhook_replayed", "webhook_deleted",
                    "channels_reconciled", "app_deleted",
                ]
            )
            #expect(entries.allSatisfy { $0.keyID == key.id && $0.keyName == "ops" && $0.requestID == "request-1" })
            #expect(entries.allSatisfy { $0.bundleID == app })
            let named = Dictionary(entries.map { ($0.action, $0) }) { first, _ in first }
            #expect(named["app_changed"]?.before?["team_id"]?.string == "ABCDE12345")
            #expect(named["app_changed"]?.after?["environments"]?["production"]?["private_key"]?.string == "replaced")
            #expect(named["type_changed"]?.before?["version"]?.int64 == 1)
            #expect(named["type_changed"]?.after?["version"]?.int64 == 2)
            #expect(named["type_changed"]?.after?["policy"]?["wake_after_seconds"]?.int64 == 60)
            #expect(named["api_key_created"]?.after?["scopes"] == ["read"])
            #expect(named["api_key_revoked"]?.after?["revoked_at"]?.string != nil)
            #expect(named["schedule_cancelled"]?.subject == cancelled)
            #expect(named["app_deleted"]?.after == nil)
            let everything = entries.map(\.json.text).joined()
            for secret in ["BEGIN", "tally_", "fan-of-someone", "phone-of-someone"] {
                #expect(!everything.contains(secret), "\(secret)")
            }
        }
    }

    @Test("The log shows that the URL of a webhook has changed, but not the secret that it may hold")
    func webhookURLs() async throws {
        try await withWorld { world in
            let orchestrator = world.orchestrator
            let hook = WebhookID(stored: "audit")
            try await acting {
                for path in ["s3cret-1", "s3cret-2"] {
                    let request = WebhookRequest(url: "https://hooks.example.com/\(path)")
                    _ = try await orchestrator.putWebhook(world.app, hook, request)
                }
                try await orchestrator.deleteWebhook(world.app, hook)
            }
            let entries = Array(try await entries(orchestrator).reversed())
            #expect(entries.map(\.action) == ["webhook_changed", "webhook_changed", "webhook_deleted"])
            try #require(entries.count == 3)
            let first = try #require(entries[0].after?["url"]?.string)
            let second = try #require(entries[1].after?["url"]?.string)
            #expect(first.hasPrefix("https://hooks.example.com/… (sha256 ") && first != second)
            #expect(entries[1].before?["url"]?.string == first)
            #expect(entries[2].before?["url"]?.string == second)
            #expect(!entries.map(\.json.text).joined().contains("s3cret"))
        }
    }

    @Test("What is refused leaves no entry, and nothing Tally does by itself does")
    func refused() async throws {
        try await withWorld { world in
            _ = try await world.orchestrator.channelRoom.sweeps.claim(world.app, .production, record: [])
            try await acting {
                _ = try await problem {
                    _ = try await world.orchestrator.reconcileChannels(world.app, ReconcileRequest())
                }
                let none = "00000000-0000-0000-0000-000000000000"
                _ = try await problem { try await world.orchestrator.cancelSchedule(world.app, none) }
                _ = try await problem { try await world.orchestrator.revokeAPIKey(none, only: nil) }
                _ = try await problem { try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: "d1")) }
                _ = try await problem { try await world.orchestrator.deleteApp(BundleID(stored: "com.example.none")) }
            }
            #expect(try await entries(world.orchestrator).isEmpty)
        }
    }

    @Test("An entry is committed with what it tells of, and what is refused when it is run leaves none")
    func together() async throws {
        try await withWorld(policy: { $0.endWhenSilentSeconds = 7_200 }) { world in
            try await world.start { $0.startsAt = Instant(unixSeconds: 4_000_000_000) }
            func schedule(_ kind: String) async throws -> String {
                let query: Query = "SELECT schedule_id::text FROM schedules WHERE kind::text = \(kind)"
                return try #require(try await world.word(query))
            }
            let (start, end) = (try await schedule("start"), try await schedule("end"))
            let refused = try await problem {
                try await acting { _ = try await world.orchestrator.runSchedule(world.app, end) }
            }
            #expect(refused?.code == "schedule_waits")
            #expect(try await entries(world.orchestrator).isEmpty)
            var request = UpdateRequest(contentState: World.state(1))
            request.at = Instant(unixSeconds: 4_000_000_000)
            _ = try await world.orchestrator.intake.update(world.app, ActivityID(stored: "final"), request, origin: nil)
            let update = try await schedule("update")
            try await acting {
                _ = try await world.orchestrator.runSchedule(world.app, start)
                // Nothing runs a second time.
                _ = try await world.orchestrator.runSchedule(world.app, start)
                _ = try await world.orchestrator.runSchedule(world.app, update)
            }
            let transactions = try await world.database.query(
                """
                SELECT a.subject, a.xmin = s.xmin FROM audit_log AS a JOIN schedules AS s ON s.schedule_id::text = a.subject
                ORDER BY a.entry_id
                """
            ).decoded(as: (String, Bool).self)
            #expect(transactions.map(\.0) == [start, update])
            #expect(transactions.map(\.1) == [true, true])
        }
    }

    @Test("Entries come page by page, the newest first, and by filter; a bound key sees its app's alone")
    func reading() async throws {
        try await withRegistry { registry, app in
            let other = BundleID(stored: "com.example.other")
            try await acting {
                for _ in 0..<3 { _ = try await registry.putApp(app, .production(key: nil)) }
                _ = try await registry.putApp(other, .production(key: P256PrivateKey.generate().pem()))
                _ = try await registry.createAPIKey(APIKeyRequest(name: "all", scopes: [.read]))
            }
            var ids: [Int64] = []
            var cursor: String?
            repeat {
                let page = try await registry.audit(AuditFilter(), PageRequest(limit: 2, cursor: cursor), only: nil)
                ids += page.items.map(\.id)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(ids.count == 5)
            #expect(ids == ids.sorted(by: >))
            #expect(
                try await registry.audit(AuditFilter(), PageRequest(), only: other).items.map(\.bundleID) == [other]
            )
            #expect(try await registry.audit(AuditFilter(app: app), PageRequest(), only: other).items.count == 1)
            #expect(try await entries(registry, AuditFilter(action: .apiKeyCreated)).count == 1)
            #expect(try await entries(registry, AuditFilter(app: app)).count == 3)
            #expect(try await entries(registry, AuditFilter(keyID: "nobody")).isEmpty)
            #expect(try await entries(registry, AuditFilter(since: Instant(unixSeconds: 4_000_000_000))).isEmpty)
            #expect(try await entries(registry, AuditFilter(until: Instant(unixSeconds: 1))).isEmpty)
        }
    }

    @Test("After an erasure no table holds the user's id or the ids of the user's devices")
    func erasure() async throws {
        try await withWorld { world in
            try await world.register("erased-phone", token: "a1", user: "erased-user", deviceToken: "aa01")
            try await world.register("kept-phone", token: "a2", user: "kept-user")
            try await world.start(
                to: Audience(
                    users: [UserID(stored: "erased-user"), UserID(stored: "kept-user")],
                    devices: [DeviceID(stored: "erased-phone"), DeviceID(stored: "kept-phone")]
                )
            )
            try await world.settle()
            try await world.follow("erased-phone", token: "b1")
            try await world.update(score: 1)
            try await world.settle()
            let keyed = try keyedReports(of: "erased-phone", user: "erased-user")
            let reported = await world.orchestrator.intake.batch(world.app, keyed, origin: nil)
            #expect(reported.allSatisfy { (try? $0.get()) != nil })
            let target = PushRequest.Target.user(UserID(stored: "erased-user"))
            let push = PushRequest(to: target, pushType: .alert, aps: ["alert": "Hello"])
            _ = try await world.orchestrator.intake.push(world.app, push)
            try await PushQueue(room: world.orchestrator.delivery).sendDue()
            _ = try await world.orchestrator.intake.push(world.app, push)
            try await acting { try await world.orchestrator.eraseUser(world.app, UserID(stored: "erased-user")) }
            let tables = try await world.database.query(
                """
                SELECT table_name::text FROM information_schema.tables
                WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
                """
            ).decoded(as: String.self)
            for table in tables {
                let rows = try await world.database.query(Query(unescaped: "SELECT t::text FROM \(table) AS t"))
                for row in try rows.decoded(as: String.self) {
                    #expect(!row.contains("erased-user") && !row.contains("erased-phone"), "\(table)")
                }
            }
            #expect(try await world.orchestrator.device(world.app, DeviceID(stored: "kept-phone")).userID != nil)
            // A repeated report makes no new device of one that was erased.
            let repeated = await world.orchestrator.intake.batch(world.app, [keyed[0]], origin: nil)
            guard case .failure(let problem as Problem) = repeated[0] else {
                Issue.record("the device is there again")
                return
            }
            #expect(problem.status == 404)
        }
    }

    /// What a backend may send of a phone in a batch, each operation with a key.
    private func keyedReports(of device: String, user: String) throws -> [KeyedOperation] {
        let id = DeviceID(stored: device)
        var registration = DeviceRequest(environment: .production)
        registration.user = .user(UserID(stored: user))
        let token = try #require(PushToken(hex: "b1"))
        let card = SubscriptionRequest(.updateToken(token), environment: .production)
        let operations = [
            BatchOperation(.device(id, registration)),
            BatchOperation(.subscription(ActivityID(stored: "final"), id, card)),
        ]
        return operations.enumerated().map { place, operation in
            let key = IdempotencyKey(
                apiKeyID: "k1",
                app: BundleID(stored: "com.example.app"),
                method: "POST",
                path: "/batch",
                key: "\(place)",
                bodyHash: [1]
            )
            return KeyedOperation(operation, idempotency: .init(key))
        }
    }

    @Test("What operators did is kept for 400 days, for as long as is wished, or for ever")
    func retention() async throws {
        try await withWorld { world in
            for age in [401, 399, 29, 0] {
                let key = APIKeyRequest(name: "from \(age) days ago", scopes: [.read])
                try await acting { _ = try await world.orchestrator.createAPIKey(key) }
                _ = try await world.database.execute(
                    "UPDATE audit_log SET at = at - \(Duration.seconds(age * 86_400)) WHERE at > now() - interval '1 hour'"
                )
            }
            func kept(for retention: Duration?) async throws -> Int {
                let settings = OrchestratorSettings { $0.auditRetention = retention }
                _ = try await ExpiryDuty(store: world.sibling(settings: settings).orchestrator.store)
                    .forgetSome(.auditEntries)
                return try await entries(world.orchestrator).count
            }
            #expect(try await kept(for: nil) == 4)
            _ = try await ExpiryDuty(store: world.orchestrator.store).forgetSome(.auditEntries)
            #expect(try await entries(world.orchestrator).count == 3)
            #expect(try await kept(for: .seconds(30 * 86_400)) == 2)
            #expect(try await kept(for: .seconds(86_400)) == 1)
        }
    }

    @Test("The duty forgets what has had its time, of every kind, by itself")
    func duty() async throws {
        try await withWorld { world in
            try await acting {
                _ = try await world.orchestrator.createAPIKey(APIKeyRequest(name: "old", scopes: [.read]))
            }
            _ = try await world.database.execute("UPDATE audit_log SET at = at - interval '401 days'")
            let duty = Task { await ExpiryDuty(store: world.orchestrator.store).run() }
            defer { duty.cancel() }
            try await eventually("the entry is forgotten") { try await entries(world.orchestrator).isEmpty }
            duty.cancel()
            await duty.value
        }
    }

    @Test("Who issued tickets is kept as long as events, and what operators did for longer")
    func expiry() async throws {
        try await withWorld { world in
            for device in ["first", "second"] {
                try await acting {
                    let ticket = RegistrationTicketRequest(
                        environment: .production,
                        deviceID: DeviceID(stored: device),
                        ttlSeconds: 60
                    )
                    _ = try await world.orchestrator.createTicket(world.app, ticket)
                    _ = try await world.orchestrator.createAPIKey(APIKeyRequest(name: device, scopes: [.read]))
                }
                guard device == "first" else { continue }
                _ = try await world.database.execute("UPDATE audit_log SET at = at - interval '8 days'")
            }
            #expect(try await ExpiryDuty(store: world.orchestrator.store).forgetSome(.issuedTickets) == 1)
            let left = try await entries(world.orchestrator).map(\.action)
            #expect(left == ["api_key_created", "ticket_issued", "api_key_created"])
        }
    }
}
