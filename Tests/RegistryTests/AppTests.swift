import APITypes
import ActivityModel
import Cryptography
import JSON
import OrchestratorTestSupport
import Postgres
import Synchronization
import Testing

@testable import Orchestrator
@testable import Store

@Suite("Apps in the registry", .timeLimit(.minutes(2)))
struct AppTests {
    @Test("An app is made, shown without its key, changed and deleted")
    func life() async throws {
        try await withRegistry { registry, app in
            let shown = try await registry.app(app)
            #expect(shown.environments == [.production: SigningKeyResource(keyID: KeyID(stored: "KEY1234567"))])
            #expect(!shown.json.text.contains("PRIVATE"))
            #expect(shown.channelPool == 0 && !shown.channelsExclusive)
            var request = AppRequest.production(key: nil)
            request.channelPool = 5
            request.channelsExclusive = true
            request.environments[.sandbox] = SigningKeyRequest(
                keyID: KeyID(stored: "SAND123456"),
                privateKey: try P256PrivateKey.generate().pem()
            )
            let changed = try await registry.putApp(app, request)
            #expect(changed.channelPool == 5)
            #expect(changed.channelsExclusive)
            #expect(changed.environments.count == 2)
            #expect(changed.createdAt == shown.createdAt)
            #expect(changed.updatedAt > shown.updatedAt)
            // What the request leaves out stays.
            let same = try await registry.putApp(app, .production(key: nil))
            #expect(same.environments.count == 2)
            #expect(same.channelPool == 5 && same.channelsExclusive)
            request.channelPool = 0
            request.channelsExclusive = false
            let plain = try await registry.putApp(app, request)
            #expect(plain.channelPool == 0 && !plain.channelsExclusive)
            try await registry.deleteApp(app)
            #expect(try await problem { _ = try await registry.app(app) }?.status == 404)
            #expect(try await problem { try await registry.deleteApp(app) }?.status == 404)
        }
    }

    @Test("A key lies sealed in the database, and opens for its app and environment only")
    func sealing() async throws {
        try await withRegistry { registry, app in
            let pem = try P256PrivateKey.generate().pem()
            _ = try await registry.putApp(app, .production(key: pem))
            let rows = try await registry.database.query("SELECT private_key_sealed FROM signing_keys")
            let sealed = try #require(try rows.single([UInt8].self))
            let opened = try SecretSeal.signingKey(app, .production).openKey(sealed, under: registry.masterKeys)
            #expect(try opened.pem() == pem)
            #expect(throws: CryptographyError.self) {
                try SecretSeal.signingKey(app, .sandbox).openKey(sealed, under: registry.masterKeys)
            }
            #expect(throws: CryptographyError.self) {
                let other = BundleID(stored: "com.example.other")
                return try SecretSeal.signingKey(other, .production).openKey(sealed, under: registry.masterKeys)
            }
        }
    }

    @Test("A key that is not P-256, and an environment without any, are 422 with the pointer; nothing is made")
    func refusals() async throws {
        try await withRegistry { registry, app in
            let other = BundleID(stored: "com.example.other")
            let wrong = try await problem { _ = try await registry.putApp(other, .production(key: "-----BEGIN")) }
            #expect(wrong?.status == 422)
            #expect(wrong?.errors.map(\.pointer.description) == ["/environments/production/private_key"])
            let missing = try await problem { _ = try await registry.putApp(other, .production(key: nil)) }
            #expect(missing?.errors.map(\.code) == [FieldError.missing])
            let team = TeamID(stored: "ABCDE12345")
            let empty = try await problem {
                _ = try await registry.putApp(other, AppRequest(teamID: team, environments: [:]))
            }
            #expect(empty?.errors.map(\.pointer.description) == ["/environments"])
            #expect(try await problem { _ = try await registry.app(other) }?.status == 404)
        }
    }

    @Test("A new key id without its private key is 422 with the pointer, and the stored key stays")
    func newKeyID() async throws {
        try await withRegistry { registry, app in
            let other = KeyID(stored: "NEWKEY1234")
            let before = try await registry.app(app)
            let put = AppRequest(
                teamID: TeamID(stored: "ABCDE12345"),
                channelPool: 5,
                environments: [.production: SigningKeyRequest(keyID: other)]
            )
            let patch = AppPatch(environments: [.production: SigningKeyPatch(keyID: other)])
            let whole = try await problem { _ = try await registry.putApp(app, put) }
            let part = try await problem { _ = try await registry.patchApp(app, patch) }
            for refused in [whole, part] {
                #expect(refused?.status == 422)
                #expect(refused?.errors.map(\.code) == [FieldError.missing])
                #expect(refused?.errors.map(\.pointer.description) == ["/environments/production/private_key"])
            }
            #expect(try await registry.app(app) == before)
            var complete = put
            complete.environments[.production]?.privateKey = try P256PrivateKey.generate().pem()
            let changed = try await registry.putApp(app, complete)
            #expect(changed.environments == [.production: SigningKeyResource(keyID: other)])
        }
    }

    @Test("Lists go on where the page before ended")
    func paging() async throws {
        try await withRegistry { registry, app in
            let key = try P256PrivateKey.generate().pem()
            for name in ["com.example.b", "com.example.c"] {
                _ = try await registry.putApp(BundleID(stored: name), .production(key: key))
            }
            let first = try await registry.apps(PageRequest(limit: 2), only: nil)
            #expect(first.items.map(\.bundleID.rawValue) == ["com.example.app", "com.example.b"])
            let second = try await registry.apps(PageRequest(limit: 2, cursor: first.nextCursor), only: nil)
            #expect(second.items.map(\.bundleID.rawValue) == ["com.example.c"])
            #expect(second.nextCursor == nil)
            #expect(try await registry.apps(PageRequest(), only: app).items.map(\.bundleID) == [app])
            #expect(
                try await problem { _ = try await registry.apps(PageRequest(cursor: "x"), only: nil) }?.status == 422
            )
        }
    }

    @Test("An app with more devices, activities and rows of them than one statement deletes goes with all of them")
    func largeApp() async throws {
        try await withWorld { world in
            let registry = world.orchestrator
            let app = world.app.rawValue
            try await world.start(to: World.devices("d1"))
            try await world.crowd(3_000)
            try await world.end()
            try await world.settle()
            _ = try await world.database.pipeline([
                """
                INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes,
                    start_body, started_at, ended_at)
                SELECT \(app), 'old' || n, 'production', 'Game', 'channel', 'ended', '{}', '{}', now(), now()
                FROM generate_series(1, 450) AS n
                """,
                """
                INSERT INTO changes (activity_key, revision, kind, content_state, urgency, accepted_at)
                SELECT a.activity_key, r, 'update', '{}', 'routine', now()
                FROM activities AS a, generate_series(2, 3001) AS r WHERE a.activity_id = 'old7'
                """,
                "UPDATE activities SET revision = 3001 WHERE activity_id = 'old7'",
                """
                INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id, activity_key, ready_at,
                    deleted_at)
                SELECT \(app), 'production', 'none', 'deleted', 'c' || activity_key, activity_key, now(), now()
                FROM activities WHERE delivery = 'channel'
                """,
            ])
            try await registry.deleteApp(world.app)
            for table in ["apps", "devices", "activities", "changes", "subscriptions", "channels"] {
                #expect(try await world.number(Query(unescaped: "SELECT count(*) FROM \(table)")) == 0, "\(table)")
            }
            #expect(try await problem { try await registry.deleteApp(world.app) }?.status == 404)
        }
    }

    @Test("A deletion that was cut off has ended all starting, and is gone on with")
    func cutOffDeletion() async throws {
        try await withWorld { world in
            try await world.crowd(1_500)
            let passed = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .betweenTransactions else { return }
                // The first transaction is whole, and so is a part of the devices.
                if passed.withLock({
                    $0 += 1; return $0
                }) > 2 {
                    throw PostgresError(.connectionLost)
                }
            }
            let dying = world.sibling(behind: gate)
            await #expect(throws: PostgresError.self) { try await dying.orchestrator.deleteApp(world.app) }
            #expect(try await world.number("SELECT count(*) FROM devices") ?? 0 == 500)
            let refused = try await problem { try await world.start() }
            #expect(refused?.status == 422)
            try await world.orchestrator.deleteApp(world.app)
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
        }
    }

    @Test("A start that is accepted while its app is deleted stands in the way, and nothing is gone")
    func startAtTheSameMoment() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            let meanwhile = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .beforeCommit { await meanwhile.pass() }
            }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                try await withThrowingTaskGroup(of: Problem?.self) { group in
                    group.addTask {
                        try await other.start()
                        return nil
                    }
                    await meanwhile.arrivals(1)
                    group.addTask { try await problem { try await world.orchestrator.deleteApp(world.app) } }
                    try await world.someoneWaits()
                    meanwhile.open()
                    let refused = try await group.reduce(into: [Problem]()) {
                        if let problem = $1 { $0.append(problem) }
                    }
                    #expect(refused.map(\.code) == ["app_in_use"])
                }
            }
            #expect(try await world.number("SELECT count(*) FROM signing_keys") == 1)
            #expect(try await world.number("SELECT count(*) FROM devices") == 1)
            #expect(try await world.show().state == .live)
        }
    }

    @Test("An app whose activities run or whose channels exist is not deleted")
    func inUse() async throws {
        try await withRegistry { registry, app in
            _ = try await registry.database.execute(
                """
                INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id, ready_at)
                VALUES (\(app.rawValue), 'production', 'none', 'ready', 'abc=', now())
                """
            )
            let refused = try await problem { try await registry.deleteApp(app) }
            #expect(refused?.status == 409)
            #expect(refused?.code == "app_in_use")
        }
    }
}
