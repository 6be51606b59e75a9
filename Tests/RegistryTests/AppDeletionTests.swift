import APITypes
import ActivityModel
import Cryptography
import JSON
import OrchestratorTestSupport
import Postgres
import Registry
import ReportTypes
import Synchronization
import TestSupport
import Testing

@testable import Channels
@testable import Orchestrator
@testable import Store

@Suite("Deleting an app beside other work", .timeLimit(.minutes(2)))
struct AppDeletionTests {
    @Test("A deletion is on record as soon as it has begun, with the keys that it took")
    func onRecord() async throws {
        try await withWorld { world in
            try await world.register("d1")
            let passed = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .betweenTransactions else { return }
                if passed.withLock({
                    $0 += 1; return $0
                }) > 1 {
                    throw PostgresError(.connectionLost)
                }
            }
            let dying = world.sibling(behind: gate)
            let caller = Caller(keyID: Principal.bootstrapKeyID, requestID: "request-1")
            try await caller.acting {
                await #expect(throws: PostgresError.self) { try await dying.orchestrator.deleteApp(world.app) }
            }
            #expect(try await world.number("SELECT count(*) FROM signing_keys") == 0)
            #expect(try await world.number("SELECT count(*) FROM devices") == 1)
            let entries = try await world.orchestrator.audit(AuditFilter(), PageRequest(), only: nil).items
            #expect(entries.map(\.action) == ["app_deleted"])
            #expect(entries.first?.before?["environments"]?["production"]?["key_id"]?.string == "KEY1234567")
        }
    }

    @Test(
        "A channel that Apple is asked for while its app is deleted is given back to Apple",
        arguments: [false, true]
    )
    func channelUnderWay(isByHand: Bool) async throws {
        try await withWorld { world in
            var app = AppRequest.production(key: nil)
            app.channelPool = isByHand ? 0 : 1
            _ = try await world.orchestrator.putApp(world.app, app)
            try await world.register("d1")
            let gate = world.recorder.close()
            let making = Task {
                try await problem {
                    if isByHand {
                        _ = try await world.orchestrator.createChannel(world.app, ChannelRequest())
                    } else {
                        // Without the comparison with Apple's list, which would be asked for first.
                        let room = world.orchestrator.channelRoom
                        for lease in try await room.sweeps.claimDue() {
                            let pool = ChannelPool(room: room, lease: lease)
                            await #expect(throws: SigningKeyMissing.self) { try await pool.fill() }
                        }
                    }
                }
            }
            await gate.arrivals()
            #expect(world.recorder.channels == ["channel1"])
            try await world.sibling().orchestrator.deleteApp(world.app)
            world.recorder.open()
            #expect(try await making.value?.code == (isByHand ? "not_found" : nil))
            #expect(world.recorder.channels.isEmpty)
            #expect(try await world.number("SELECT count(*) FROM channels") == 0)
        }
    }

    @Test("A channel that is stored while the deletion of its app begins waits, and then finds the app's keys gone")
    func channelStored() async throws {
        try await withWorld { world in
            let (begun, hasBegun) = AsyncStream.makeStream(of: Void.self)
            let (goingOn, goesOn) = AsyncStream.makeStream(of: Void.self)
            let beginning = Task {
                try await world.database.withTransaction { connection in
                    _ = try await connection.execute("SELECT FROM apps FOR UPDATE")
                    _ = try await connection.execute("DELETE FROM signing_keys")
                    hasBegun.yield()
                    for await _ in goingOn { break }
                }
            }
            for await _ in begun { break }
            let storing = Task {
                _ = try await ChannelRows.insert(
                    APNSChannelID(stored: "channel1"),
                    app: world.app,
                    .production,
                    .none
                ) { try await world.database.query($0) }
            }
            try await world.someoneWaits()
            goesOn.yield()
            try await beginning.value
            await #expect(throws: SigningKeyMissing.self) { try await storing.value }
        }
    }

    @Test("Activities go in parts, and a deletion that was cut off goes on behind them")
    func activities() async throws {
        try await withWorld { world in
            let count = 2 * ActivityDeletion.batchSize + 50
            try await world.database.execute(
                """
                INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes,
                    start_body, started_at, ended_at)
                SELECT \(world.app.rawValue), 'old' || n, 'production', 'Game', 'tokens', 'ended', '{}', '{}', now(), now()
                FROM generate_series(1, \(count)) AS n
                """
            )
            let other = ActivityDeletion(cause: .app(BundleID(stored: "com.example.other")), after: .oldest)
            let foreign = try await world.database.withTransaction { try await other.run(on: $0) }
            #expect(foreign.deleted == 0, "they are another app's")
            let passed = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .betweenTransactions else { return }
                let count = passed.withLock {
                    $0 += 1; return $0
                }
                // The beginning, the devices, the pushes, the topics, and two parts.
                if count > 6 { throw PostgresError(.connectionLost) }
            }
            let dying = world.sibling(behind: gate)
            await #expect(throws: PostgresError.self) { try await dying.orchestrator.deleteApp(world.app) }
            #expect(try await world.number("SELECT count(*) FROM activities") == 50)
            try await world.orchestrator.deleteApp(world.app)
            #expect(try await world.number("SELECT count(*) FROM activities") == 0)
        }
    }

    @Test("A deletion comes to its end though phones go on registering")
    func registrations() async throws {
        try await withWorld { world in
            let passed = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .betweenTransactions else { return }
                let count = passed.withLock {
                    $0 += 1; return $0
                }
                // Once the app is gone they are refused.
                if count < 100 { try? await world.register("d\(count)") }
            }
            try await world.sibling(behind: gate).orchestrator.deleteApp(world.app)
            #expect(passed.withLock { $0 } < 100)
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
        }
    }

    @Test("Requests that wait for the deletion of their app find it gone")
    func requestsMeanwhile() async throws {
        try await withWorld(connections: 16) { world in
            let orchestrator = world.orchestrator
            let app = world.app
            let user = UserID(stored: "fan")
            // An erasure revokes tickets only if the app has a ticket key.
            _ = try await orchestrator.createTicketKey(app, TicketKeyRequest(algorithm: .hs256))
            let requests: [@Sendable () async throws -> Void] = [
                {
                    let request = TypeRequest(source: .schemas(attributes: [:], contentState: [:]))
                    _ = try await orchestrator.putType(app, ActivityTypeName(stored: "New"), request, force: false)
                },
                { _ = try await orchestrator.putTypeVersion(app, World.game, 1, TypeVersionRequest(retired: true)) },
                { _ = try await orchestrator.createTicketKey(app, TicketKeyRequest(algorithm: .hs256)) },
                {
                    let request = TicketRevocationRequest(revokedBefore: Instant(unixSeconds: 1_700_000_000))
                    _ = try await orchestrator.revokeTickets(app, of: .user(user), request)
                },
                { _ = try await orchestrator.putTopics(app, of: .user(user), .whole([Topic(stored: "ajax")])) },
                { try await orchestrator.eraseUser(app, user) },
                {
                    let request = APIKeyRequest(name: "bound", scopes: [.read], bundleID: app)
                    _ = try await orchestrator.createAPIKey(request)
                },
            ]
            let refusals = try await withThrowingTaskGroup(of: Problem?.self) { group in
                try await world.database.withTransaction { deletion in
                    _ = try await deletion.query("SELECT FROM apps FOR UPDATE")
                    for request in requests {
                        group.addTask { try await problem(request) }
                    }
                    try await world.someoneWaits(atLeast: Int64(requests.count))
                    _ = try await deletion.execute("DELETE FROM apps")
                }
                return try await group.reduce(into: [Problem?]()) { $0.append($1) }
            }
            #expect(refusals.compactMap { $0?.status }.sorted() == [404, 404, 404, 404, 404, 404, 422])
            #expect(refusals.compactMap { $0?.errors.first?.message } == ["This app does not exist."])
        }
    }

    @Test("An app that is made while its former one is deleted is younger than all that is kept of that one")
    func youngerApp() async throws {
        try await withWorld { world in
            let key = try P256PrivateKey.generate().pem()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let last = try await world.database.withTransaction { deletion in
                    _ = try await deletion.query("SELECT FROM apps FOR UPDATE")
                    group.addTask {
                        _ = try await world.orchestrator.putApp(world.app, AppRequest.production(key: key))
                    }
                    try await world.someoneWaits()
                    let now = try await deletion.query("SELECT clock_timestamp()").first(as: PGTimestamp.self)
                    _ = try await deletion.execute("DELETE FROM apps")
                    return try #require(now)
                }
                try await group.waitForAll()
                #expect(try await world.number("SELECT count(*) FROM apps WHERE created_at > \(last)") == 1)
            }
        }
    }

    @Test("A worker that still sends an end is not waited for, and loses its activity with the app")
    func leased() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(3)
            try await world.end()
            try await world.tables.setWork(dueIn: nil, heldFor: 60)
            let deletion = ActivityDeletion(cause: .app(world.app), after: .oldest)
            let outcome = try await world.database.withTransaction { try await deletion.run(on: $0) }
            #expect(outcome.deleted == 0)
            #expect(try await world.tables.cards().count == 3)
            try await world.orchestrator.deleteApp(world.app)
            #expect(try await world.number("SELECT count(*) FROM activities") == 0)
        }
    }

    @Test("A deletion that meets a worker in a deadlock gives way, and goes on")
    func deadlock() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(3)
            try await world.end()
            try await world.settle()
            func hold(_ token: Int) -> Query {
                EngineTables.cardLock(token: World.crowdToken(token))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { worker in
                    // It is the deletion that finds out.
                    _ = try await worker.query("SELECT set_config('deadlock_timeout', '1 min', true)")
                    _ = try await worker.query(hold(3))
                    group.addTask { try await world.orchestrator.deleteApp(world.app) }
                    try await world.someoneWaits()
                    // Those before it are gone, but not for good.
                    _ = try await worker.query(hold(1))
                }
                try await group.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM devices") == 0)
            #expect(try await world.number("SELECT count(*) FROM apps") == 0)
        }
    }
}
