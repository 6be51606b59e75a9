import APITypes
import APNSTransport
import ActivityModel
import Cryptography
import JSON
import OrchestratorTestSupport
import Ownership
import Postgres
import ReportTypes
import TestSupport
import Testing

@testable import Doctor
@testable import Orchestrator
@testable import Store

/// What the doctor finds in a real database, before and after somebody has broken something.
@Suite("The doctor's examination")
struct ExaminationTests {
    private static func checks(_ world: World, _ request: DoctorRequest = DoctorRequest()) async -> [DoctorCheck] {
        await world.orchestrator.examine(request, installation: true).checks
    }

    private static func check(_ name: String, _ world: World) async throws -> DoctorCheck {
        try #require(await checks(world).first { $0.check == name })
    }

    @Test("everything is looked at once, and what is not well comes with advice")
    func everything() async throws {
        try await withWorld { world in
            let checks = await Self.checks(world)
            let names = checks.reduce(into: [String]()) { if $0.last != $1.check { $0.append($1.check) } }
            #expect(
                names == [
                    "database_version", "database_settings", "database_connections", "disk", "clock",
                    "migrations",
                    "partitions", "signing_key", "leases", "due_work", "stamps", "sending", "version",
                    "apns",
                ]
            )
            #expect(checks.allSatisfy { ($0.verdict == .ok) == ($0.advice == nil) })
            let places = checks.filter { $0.check == "apns" }.compactMap(\.subject)
            let environments = try await world.number("SELECT count(DISTINCT environment) FROM signing_keys")
            #expect(places.count == 3 * Int(environments ?? 0))
            #expect(places.contains("production channels, https://api-manage-broadcast.push.apple.com:2196"))
        }
    }

    @Test("a cluster without fsync is said to be broken: it cannot keep what was accepted")
    func settings() async throws {
        // The clusters of tests are such.
        try await withWorld { world in
            let check = try await Self.check("database_settings", world)
            #expect(check.verdict == .broken)
            #expect(check.finding.contains("fsync is off"))
        }
    }

    @Test("the disk's share is what the server says: the size of the database, and the WAL that a slot keeps")
    func disk() async throws {
        try await withWorld { world in
            // Slots belong to the whole server, which is of these tests alone.
            _ = try await world.number(
                "SELECT 1::int8 FROM pg_create_physical_replication_slot('doctor_reads_slots', immediately_reserve => true)"
            )
            let facts = try await DiskFacts.read(from: world.database)
            _ = try await world.number("SELECT 1::int8 FROM pg_drop_replication_slot('doctor_reads_slots')")
            let slot = try #require(facts.slot)
            #expect(slot.name == "doctor_reads_slots" && !slot.isActive && slot.bytes >= 0)
            #expect(facts.bytes > 1 << 20 && !facts.archivingFails)
            #expect(try await Self.check("disk", world).verdict == .ok)
        }
    }

    @Test("a daemon with another master key hears which key does not open, and what is no key is told apart from it")
    func keys() async throws {
        try await withWorld { world in
            #expect(try await Self.check("signing_key", world).verdict == .ok)
            let stranger = Orchestrator(
                database: world.database,
                sender: world.recorder,
                masterKeys: MasterKeys(try SymmetricKey(bytes: [UInt8](repeating: 99, count: SymmetricKey.byteCount))),
                settings: OrchestratorSettings(),
                logger: world.orchestrator.logger
            )
            let other = await stranger.examine(DoctorRequest(), installation: true).checks
            let check = try #require(other.first { $0.check == "signing_key" })
            #expect(check.verdict == .broken)
            #expect(check.finding.contains("TALLY_MASTER_KEY"))
            let seal = SecretSeal.signingKey(world.app, .production)
            let sealed = try seal.seal(Array("no key".utf8), under: world.orchestrator.masterKeys)
            try await world.database.execute("UPDATE signing_keys SET private_key_sealed = \(sealed)")
            let broken = try await Self.check("signing_key", world)
            #expect(broken.verdict == .broken)
            #expect(broken.finding.contains("P-256"))
        }
    }

    @Test("work that fails again and again is found, whichever daemon fails it")
    func failures() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.tables.setWork(dueIn: 20)
            try await world.tables.setFailures(4)
            let early = await Self.checks(world)
            #expect(!early.contains { $0.check == "failing_work" })
            try await world.tables.setFailures(5)
            let check = try await Self.check("failing_work", world)
            #expect(check.verdict == .warning)
            #expect(check.finding.hasPrefix("The work of 1 segments"))
            #expect(check.advice?.contains("TALLY_MASTER_KEY") == true)
        }
    }

    @Test("a channel that Apple does not make, or has lost, is told with its activity and what to do")
    func activityChannels() async throws {
        try await withWorld { world in
            let refusal = PushOutcome(.requestInvalid, status: 400, reason: "BadRequest")
            world.recorder.answerCreation(with: .failed(refusal))
            try await world.start("match", delivery: .channel)
            try await world.settle()
            try await world.tables.setFailures(5)
            let refused = await Self.checks(world)
            let missing = try #require(refused.first { $0.check == "activity_channels" })
            #expect(missing.verdict == .warning && missing.subject == "com.example.app (production)")
            #expect(missing.finding.contains("'match'") && missing.finding.contains("400 BadRequest"))
            #expect(missing.advice?.contains("--try-channels") == true)
            // That names neither the activity nor the answer, and leads to the keys.
            #expect(!refused.contains { $0.check == "failing_work" })
            try await world.pass(31)
            try await world.settle()
            let made = await Self.checks(world)
            #expect(!made.contains { $0.check == "activity_channels" })
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update("match", score: 1)
            try await world.settle()
            let lost = try await Self.check("activity_channels", world)
            #expect(lost.finding.contains("'match'") && lost.finding.contains("lost"))
            try await world.end("match")
            try await world.settle()
            let ended = await Self.checks(world)
            #expect(!ended.contains { $0.check == "activity_channels" })
        }
    }

    @Test("a credential that Apple refuses is broken until a push is accepted, and the advice is that for the reason")
    func credential() async throws {
        let settings = OrchestratorSettings {
            $0.retryCap = .seconds(7_200)
            $0.jitter = { 1 }
        }
        try await withWorld(settings: settings) { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            let before = await Self.checks(world)
            #expect(!before.contains { $0.check == "credential" })
            world.recorder.answerAll(with: .badKey)
            try await world.update(score: 1)
            try await world.settle()
            let check = try await Self.check("credential", world)
            #expect(check.verdict == .broken)
            #expect(check.subject == "com.example.app (production)")
            #expect(check.finding.contains("403 InvalidProviderToken"))
            #expect(check.advice?.contains("tally apps show com.example.app") == true)
            let sandbox = await Self.checks(world, DoctorRequest(environment: .sandbox))
            #expect(!sandbox.contains { $0.check == "credential" })
            world.recorder.answerAll(with: nil)
            try await world.pass(7_201)
            try await world.settle()
            let after = await Self.checks(world)
            #expect(!after.contains { $0.check == "credential" })
        }
    }

    @Test("missing partitions are found, and found no more once a daemon has tended them")
    func partitions() async throws {
        try await withWorld { world in
            #expect(try await Self.check("partitions", world).verdict == .warning)
            for name in PartitionDuty.tables {
                let table = PartitionedTable(name: name, retention: .seconds(86_400))
                try await world.database.withTransaction { try await table.tend(on: $0) }
            }
            #expect(try await Self.check("partitions", world).verdict == .ok)
        }
    }

    @Test("work that nobody takes up is found by its age, and a lease that was left behind with it")
    func dueWork() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            #expect(try await Self.check("due_work", world).verdict == .ok)
            #expect(try await Self.check("leases", world).verdict == .ok)
            try await world.tables.setWork(dueIn: -300, heldFor: 60)
            #expect(try await Self.check("due_work", world).verdict == .ok)
            #expect(try await Self.check("leases", world).finding.hasPrefix("1 held"))
            try await world.tables.setWork(dueIn: -300, heldFor: -30)
            #expect(try await Self.check("leases", world).verdict == .broken)
            let late = try await Self.check("due_work", world)
            #expect(late.verdict == .warning)
            #expect(late.finding.contains("a segment's pushes"))
            try await world.tables.setWork(dueIn: -300, heldFor: -90)
            #expect(try await Self.check("due_work", world).verdict == .broken)
        }
    }

    @Test("a schedule that is overdue, and an ordinary push that nobody sends, are due work")
    func overdue() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.database.execute(
                """
                INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
                SELECT activity_key, bundle_id, 'end', clock_timestamp() - interval '20 seconds', '{}' FROM activities
                """
            )
            try await world.tables.addPush(of: world.app.rawValue, overdueFor: 70)
            let waiting = try await WorkFacts.read(app: nil, from: world.database).waiting
            let (schedule, push) = (waiting[.schedule] ?? 0, waiting[.push] ?? 0)
            #expect(schedule >= 20 && schedule < 70)
            #expect(push >= 70)
        }
    }

    @Test("an event that nobody may read yet, because somebody keeps a transaction open, is found by its age")
    func withheldEvent() async throws {
        try await withWorld { world in
            try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT pg_current_xact_id()::text")
                try await world.start()
                try await world.settle()
                #expect(try await Self.check("due_work", world).verdict == .ok)
                try await world.database.execute(
                    "UPDATE changes SET accepted_at = accepted_at - interval '5 minutes'"
                )
                let check = try await Self.check("due_work", world)
                #expect(check.verdict == .broken)
                #expect(check.finding.contains("an event"))
                #expect(check.advice?.contains("pg_stat_activity") == true)
            }
            // What other programs keep open on this server counts, too, and ends.
            try await eventually("no old transaction is left") {
                try await Self.check("due_work", world).verdict == .ok
            }
        }
    }

    @Test("stamps far ahead of the clock are found while the activity runs")
    func stamps() async throws {
        try await withWorld { world in
            try await world.start()
            #expect(try await Self.check("stamps", world).verdict == .ok)
            try await world.database.execute("UPDATE activities SET stamp = stamp + 600")
            #expect(try await Self.check("stamps", world).verdict == .warning)
        }
    }

    @Test("halted sending is broken, and the advice names the command that lifts it")
    func halt() async throws {
        try await withWorld { world in
            try await world.tables.halt(world.app.rawValue, answers: 200, rejections: 150)
            let check = try await Self.check("sending", world)
            #expect(check.verdict == .broken)
            #expect(check.finding.contains("150 of 200"))
            #expect(check.advice?.contains("tally apps resume \(world.app) --environment production") == true)
            #expect(check.advice?.contains("`--leave-rejected`") == true)
        }
    }

    @Test("a host that cannot be reached is named with its port")
    func unreachable() async throws {
        try await withWorld { world in
            world.recorder.block(.production, .channels, .timedOut)
            let checks = await Self.checks(world, DoctorRequest(environment: .production)).filter { $0.check == "apns" }
            #expect(checks.map(\.verdict) == [.ok, .ok, .broken])
            #expect(checks.last?.advice == "Let the firewall pass outgoing TCP to port 2196.")
        }
    }

    @Test("the broadcast capability is tried with a channel that is deleted again, and only when asked")
    func channels() async throws {
        try await withWorld { world in
            // Not inside #expect: Swift 6.3.1 mixes up a closure there, beside an await, with those that follow.
            let unasked = await Self.checks(world)
            #expect(!unasked.map(\.check).contains("broadcast"))
            #expect(world.recorder.createdChannels == 0)
            let request = DoctorRequest(environment: .production, triesChannels: true)
            let good = await Self.checks(world, request).filter { $0.check == "broadcast" }
            #expect(good.map(\.verdict) == [.ok])
            #expect(world.recorder.createdChannels == 1)
            #expect(world.recorder.channels == [])
            world.recorder.answerCreation(
                with: .failed(PushOutcome(.credential, status: 400, reason: "BroadcastFeatureNotEnabled"))
            )
            let again = await Self.checks(world, request)
            let bad = again.filter { $0.check == "broadcast" }
            #expect(bad.map(\.verdict) == [.broken])
            #expect(bad.first?.advice?.contains("capability") == true)
            // Whoever did not reach Apple knows nothing of the capability.
            world.recorder.answerCreation(with: .failed(PushOutcome(.notSent)))
            let far = await Self.checks(world, request).filter { $0.check == "broadcast" }
            #expect(far.map(\.verdict) == [.broken])
            #expect(
                far.first?.advice
                    == "Apple has not refused the channel. Mend what the other checks find, then try again."
            )
            world.recorder.answerCreation(with: .failed(.noAnswer))
            let open = await Self.checks(world, request).filter { $0.check == "broadcast" }
            #expect(open.map(\.verdict) == [.warning])
            #expect(open.first?.advice?.contains("reconcile") == true)
        }
    }

    @Test("one app's examination tells nothing of another's keys and halts")
    func otherApps() async throws {
        try await withWorld { world in
            try await world.database.execute(
                """
                WITH app AS (INSERT INTO apps (bundle_id, team_id) VALUES ('com.example.other', 'OTHERTEAM1') RETURNING bundle_id)
                INSERT INTO signing_keys (bundle_id, environment, key_id, private_key_sealed)
                SELECT bundle_id, 'production', 'OTHERKEY12', '' FROM app
                """
            )
            try await world.tables.halt("com.example.other", answers: 200, rejections: 150)
            let all = await world.orchestrator.examine(DoctorRequest(), installation: true)
            #expect(all.checks.contains { $0.subject?.contains("com.example.other") == true })
            let mine = await world.orchestrator.examine(DoctorRequest(bundleID: world.app), installation: false)
            #expect(!mine.json.text.contains("other"))
            #expect(!mine.checks.contains { $0.check == "disk" })
        }
    }

    @Test("a table that somebody locks fails what reads it and nothing else, and the session that holds it is named")
    func locked() async throws {
        try await withWorld { world in
            let (holder, checks) = try await world.database.withTransaction { connection in
                _ = try await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                _ = try await connection.execute("LOCK TABLE activities IN ACCESS EXCLUSIVE MODE")
                return (connection.processID, await Self.checks(world))
            }
            #expect(!checks.contains { $0.check == "database" })
            let work = try #require(checks.first { $0.check == "due_work" })
            #expect(work.verdict == .broken)
            #expect(work.finding.contains("Postgres did not answer within"))
            let lock = try #require(checks.first { $0.check == "database_locks" })
            #expect(lock.subject == "process \(holder)")
            #expect(lock.advice?.contains("pg_terminate_backend(\(holder))") == true)
            #expect(checks.first { $0.check == "sending" }?.verdict == .ok)
            #expect(checks.first { $0.check == "signing_key" }?.verdict == .ok)
            let after = await Self.checks(world)
            #expect(!after.contains { $0.check == "database_locks" })
        }
    }

    @Test("a pool that stays in use is told as such, not as a database that is away")
    func exhausted() async throws {
        try await withWorld(connections: 1) { world in
            var pool = world.database.configuration
            pool.acquireTimeout = .milliseconds(300)
            let name = try await world.database.query("SELECT current_database()::text").first(as: String.self)
            let url = try await TestCluster.shared.url(database: #require(name))
            let busy = try Database(url: url, configuration: pool, logger: world.orchestrator.logger)
            let orchestrator = Orchestrator.test(on: busy, Recorder(), settings: OrchestratorSettings())
            let checks = try await busy.withConnection { _ in
                await orchestrator.examine(DoctorRequest(), installation: true).checks
            }
            await busy.shutDown()
            let check = try #require(checks.first { $0.check == "database" })
            #expect(check.finding.hasPrefix("Postgres runs, but"))
        }
    }

    @Test("an app whose work fails because it has no signing key is broken")
    func missingKey() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.tables.setWork(dueIn: 20)
            try await world.tables.setFailures(1)
            let before = await Self.checks(world)
            #expect(!before.contains { $0.check == "signing_key" && $0.verdict == .broken })
            try await world.database.execute("DELETE FROM signing_keys")
            let after = await Self.checks(world).filter { $0.check == "signing_key" && $0.verdict == .broken }
            #expect(after.map(\.subject) == ["\(world.app) (production)"])
            #expect(after.first?.finding.contains("1 activities") == true)
        }
    }

    @Test("a setting that daemons have to share and do not is named, and a strange master key is broken")
    func daemonSettings() async throws {
        func settings(_ size: String) -> OrchestratorSettings {
            OrchestratorSettings { $0.shared = ["TALLY_RING_SIZE": size, "TALLY_WEBHOOK_ALLOW": "none"] }
        }
        try await withWorld(settings: settings("50000")) { world in
            try await world.orchestrator.partitions.look()
            try await world.sibling().orchestrator.partitions.look()
            let alike = await Self.checks(world)
            #expect(!alike.contains { $0.check == "daemon_settings" })

            try await world.sibling(settings: settings("100")).orchestrator.partitions.look()
            let check = try await Self.check("daemon_settings", world)
            #expect(check.subject == "TALLY_RING_SIZE")
            #expect(check.verdict == .warning)
            #expect(check.finding.contains("100, 50000"))

            let stranger = Orchestrator.test(on: world.database, world.recorder, settings: settings("50000"))
            try await stranger.partitions.look()
            let checks = await Self.checks(world).filter { $0.check == "daemon_settings" }
            #expect(checks.map(\.subject) == ["TALLY_MASTER_KEY", "TALLY_RING_SIZE"])
            #expect(checks.first?.verdict == .broken)
        }
    }

    @Test("a database that is away is a finding, and the way to Apple is tried all the same")
    func away() async throws {
        try await withWorld { world in
            var pool = Database.Configuration()
            pool.acquireTimeout = .milliseconds(300)
            pool.connectTimeout = .milliseconds(300)
            let nowhere = try Database(
                url: "postgres://nobody@127.0.0.1:1/nothing",
                configuration: pool,
                logger: world.orchestrator.logger
            )
            let orchestrator = Orchestrator.test(on: nowhere, Recorder(), settings: OrchestratorSettings())
            let report = await orchestrator.examine(DoctorRequest(), installation: true)
            await nowhere.shutDown()
            #expect(report.verdict == .broken)
            #expect(report.checks.first?.check == "database")
            #expect(report.checks.count { $0.check == "apns" && $0.verdict == .ok } == 6)
        }
    }
}
