import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Synchronization
import Testing

@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Mass rejections")
struct SendingHaltTests {
    /// An activity with a crowd of cards, whose tokens APNs rejects from now on.
    private func withHalt(_ count: Int = 400, _ body: (World) async throws -> Void) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(count)
            try await world.settle()
            _ = world.recorder.take()
            world.recorder.answerAll(with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            try await body(world)
        }
    }

    private func states(_ world: World) async throws -> [String: Int64] {
        let rows = try await world.database.query("SELECT state::text, count(*) FROM subscriptions GROUP BY state")
        return Dictionary(uniqueKeysWithValues: try rows.decoded(as: (String, Int64).self).map { ($0, $1) })
    }

    /// As if the pause before the next probe were over, at which every segment may rest.
    private func endPause(_ world: World) async throws {
        _ = try await world.database.pipeline([
            "UPDATE sending_halts SET probe_at = now()", "UPDATE segments SET due_at = NULL",
        ])
        try await HaltPatrol(work: world.orchestrator.deliveryStore).look()
    }

    @Test("They halt sending for every daemon within a slice of a batch, and operators are told")
    func halt() async throws {
        try await withHalt { world in
            // The slices of a batch leave side by side: what was already out when the first answers came is the loss.
            let rejected = try await states(world)["rejected"] ?? 0
            #expect(rejected == Int64(world.recorder.take().count))
            try await world.update(score: 2)
            try await world.sibling().settle()
            #expect(world.recorder.take().isEmpty)

            let events = try await world.events(.providerHalted)
            #expect(events.count == 1)
            #expect(events.first?.app == world.app)
            #expect(events.first?.environment == .production)
            let answers = try #require(events.first?.detail["answers"]?.int64)
            #expect(answers >= 100 && events.first?.detail["rejections"]?.int64 == answers)
            let warnings = try await world.orchestrator.warnings()
            // Anybody may read them.
            #expect(warnings.count == 1 && warnings[0].contains("halted for 1 environment"))
            #expect(!warnings.joined().contains("com.example"))
        }
    }

    @Test("Rings are woken for the probes of several halts in the order of their activities")
    func wakingOrder() async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.start()
            try await world.start("other") { $0.environment = .sandbox }
            try await world.database.execute("UPDATE segments SET due_at = now()")
            // The row of the later activity comes first.
            for environment in ["sandbox", "production"] {
                try await world.database.execute(
                    """
                    INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                    VALUES (\(world.app.rawValue), \(environment)::apns_environment, now(), 1, 1, now())
                    """
                )
            }
            let first = try #require(try await world.number("SELECT min(activity_key) FROM segments"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM segments WHERE activity_key = \(first) FOR UPDATE")
                    group.addTask { try await HaltPatrol(work: world.orchestrator.deliveryStore).look() }
                    try await world.someoneWaits()
                    let others = try await connection.query(
                        "SELECT 1 FROM segments WHERE activity_key <> \(first) FOR UPDATE SKIP LOCKED"
                    )
                    #expect(others.count == 1)
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(
        "A probe that is accepted lets sending go on; tokens that were rejected on the way are tried again, all get the newest"
    )
    func probeResumes() async throws {
        try await withHalt { world in
            try await world.update(score: 2)
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await endPause(world)
            try await world.settle()

            let pushes = world.recorder.take()
            #expect(Set(pushes.map(\.destination)).count == 400)
            #expect(pushes.allSatisfy { $0.score == 2 })
            #expect(pushes.count == 400, "nobody is sent it twice")
            #expect(try await states(world) == ["riding": 400])
            #expect(try await world.events(.providerResumed).map { $0.detail["by"] } == ["probe"])
            #expect(try await world.orchestrator.warnings().isEmpty)
        }
    }

    @Test("A probe sends a few pushes; while they are rejected sending stands still, and the pause grows")
    func probeFails() async throws {
        try await withHalt { world in
            _ = world.recorder.take()
            for probes in Int64(1)...3 {
                try await endPause(world)
                try await world.settle()
                let pushes = world.recorder.take()
                #expect((1...SendingHalt.probeSize).contains(pushes.count))
                #expect(try await world.number("SELECT probes::int8 FROM sending_halts") == probes)
                let pause = try #require(
                    try await world.number("SELECT extract(epoch FROM probe_at - now())::int8 FROM sending_halts")
                )
                #expect((60 << (probes - 1)...60 << probes).contains(pause))
            }
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("One probe after the other tries tokens that none before has tried, those first that were rejected first")
    func probesMeetOthers() async throws {
        try await withHalt { world in
            _ = world.recorder.take()
            // The later in the ring, the earlier it was rejected. The index would bring them in that order by chance.
            try await world.database.execute("DROP INDEX subscriptions_rejected")
            try await world.database.execute(
                "UPDATE subscriptions SET rejected_at = now() - device_key * interval '10 milliseconds' WHERE state = 'rejected'"
            )
            let first: Query = """
                SELECT string_agg(encode(update_token, 'hex'), ' ') FROM (
                    SELECT update_token FROM subscriptions WHERE state = 'rejected' ORDER BY rejected_at LIMIT 20
                ) AS s
                """
            let expected = try #require(try await world.word(first)).split(separator: " ").map(String.init)
            var tried: [String] = []
            for _ in 1...2 {
                try await endPause(world)
                try await world.settle()
                tried += world.recorder.take().map(\.destination)
            }
            #expect(tried.count == 20 && tried.sorted() == expected.sorted())
        }
    }

    @Test("A lift waits for no ring, however many there are; those that have to do are served after it")
    func liftOfMany() async throws {
        try await withHalt { world in
            try await world.start("other")
            try await world.follow("phone", token: "aa01", in: "other", known: 1)
            try await world.update("other", score: 3)
            try await world.settle()
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            // The ring of the rejected tokens rests; the other waits for the next probe.
            try await world.database.execute(
                """
                UPDATE segments SET due_at = NULL
                WHERE activity_key = (SELECT activity_key FROM activities WHERE activity_id = 'final')
                """
            )
            try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM segments FOR UPDATE")
                try await world.orchestrator.liftHalt(world.app, .production, reviving: true)
            }
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)).count == 401)
            #expect(try await states(world) == ["riding": 401])
        }
    }

    @Test("A probe that finds nothing to send, or reaches nobody, does not count")
    func probeWithoutAnswer() async throws {
        try await withHalt { world in
            world.recorder.answerAll(with: .notSent)
            try await endPause(world)
            try await world.settle()
            #expect(try await world.number("SELECT probes::int8 FROM sending_halts") == 0)
            let pause = try await world.number("SELECT extract(epoch FROM probe_at - now())::int8 FROM sending_halts")
            #expect(pause ?? 60 <= 5)
        }
    }

    @Test("What is due waits for the next probe; and where no rejected token is left, one that is due is the probe")
    func dueRings() async throws {
        try await withHalt { world in
            try await world.start("other")
            try await world.follow("d1", token: "aa01", in: "other", known: 1)
            try await world.update("other", score: 5)
            try await world.settle()
            let early = "SELECT count(*) FROM segments WHERE due_at < now() + interval '45 seconds'"
            #expect(try await world.number(Query(unescaped: early)) == 0)
            try await world.database.execute(
                "UPDATE subscriptions SET state = 'dead', due_at = NULL WHERE state = 'rejected'"
            )
            world.recorder.answerAll(with: nil)
            // The first may have nothing left to send.
            for _ in 1...2 where try await world.number("SELECT count(*) FROM sending_halts") == 1 {
                try await world.database.execute("UPDATE sending_halts SET probe_at = now()")
                try await HaltPatrol(work: world.orchestrator.deliveryStore).look()
                try await world.settle()
            }
            #expect(try await world.events(.providerResumed).map { $0.detail["by"] } == ["probe"])
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [5])
        }
    }

    @Test("An operator lifts a halt at once, with the rejected tokens or without them", arguments: [true, false])
    func operatorLifts(reviving: Bool) async throws {
        try await withHalt { world in
            let rejected = try await states(world)["rejected"] ?? 0
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.orchestrator.liftHalt(world.app, .production, reviving: reviving)
            try await world.settle()

            #expect(world.recorder.take().count == (reviving ? 400 : 400 - Int(rejected)))
            #expect(try await states(world)["rejected"] ?? 0 == (reviving ? 0 : rejected))
            let resumed = try await world.events(.providerResumed)
            #expect(resumed.map { $0.detail["by"] } == ["operator"])
            #expect(resumed.first?.detail["revived_update_tokens"]?.int64 == (reviving ? rejected : 0))
            await #expect(throws: Problem.self) {
                try await world.orchestrator.liftHalt(world.app, .production, reviving: reviving)
            }
        }
    }

    @Test("What becomes due while a halt is being lifted does not wait for a probe that nobody takes any more")
    func dueDuringLift() async throws {
        try await withHalt { world in
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            let tokens = Mutex<[String]>([])
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .beforeCommit else { return }
                let token = tokens.withLock { tokens in
                    tokens.append("aa0\(tokens.count)")
                    return tokens[tokens.count - 1]
                }
                do {
                    // An activity of its own: what is looked for in this transaction does not show it.
                    try await world.start(token)
                    try await world.follow("d1", token: token, in: token, known: 1)
                    try await world.update(token, score: 5)
                    try await world.settle()
                    #expect(world.recorder.pushes(to: token).isEmpty, "it meets the halt")
                } catch {
                    Issue.record(error)
                }
            }
            try await world.sibling(behind: gate).orchestrator.liftHalt(world.app, .production, reviving: false)
            try await world.settle()
            let due = tokens.withLock { $0 }
            #expect(due.count > 1)
            for token in due { #expect(world.recorder.pushes(to: token).map(\.score) == [5]) }
        }
    }

    @Test("Tokens are revived a batch at a time, and another daemon goes on where one has died")
    func batches() async throws {
        try await withHalt { world in
            let rejected = try #require(try await states(world)["rejected"])
            let settings = OrchestratorSettings { $0.stretchSize = 10 }
            world.recorder.answerAll(with: nil)
            let commits = Mutex(0)
            let dying = world.sibling(
                settings: settings,
                behind: StatementGate { (moment) async throws(PostgresError) in
                    if moment == .afterCommit { commits.withLock { $0 += 1 } }
                    // The mark, and one batch.
                    if moment != .afterCommit, commits.withLock({ $0 }) == 2 { throw PostgresError(.connectionLost) }
                }
            )
            await #expect(throws: PostgresError.self) {
                try await dying.orchestrator.liftHalt(world.app, .production, reviving: true)
            }
            #expect(try await states(world)["rejected"] == rejected - 10)
            #expect(try await world.events(.providerResumed).isEmpty)
            _ = world.recorder.take()
            try await world.settle()
            #expect(world.recorder.take().isEmpty, "it still stands")

            try await world.sibling(settings: settings).orchestrator.deliveryStore.halts.goOnLifting()
            try await world.settle()
            #expect(world.recorder.take().count == 400)
            let resumed = try await world.events(.providerResumed)
            #expect(resumed.map { $0.detail["by"] } == ["operator"])
            #expect(resumed.first?.detail["revived_update_tokens"]?.int64 == rejected)
        }
    }

    @Test("Whoever lifts a halt does not wait until very many tokens are revived; the rest follows")
    func manyTokens() async throws {
        try await withHalt { world in
            let rejected = try #require(try await states(world)["rejected"])
            world.recorder.answerAll(with: nil)
            let settings = OrchestratorSettings { $0.stretchSize = 10 }
            let halts = world.sibling(settings: settings).orchestrator.deliveryStore.halts
            let scope = HaltScope(app: world.app, environment: .production)
            #expect(try await halts.lift(scope, because: "operator", reviving: true, patience: .zero))
            #expect(try await states(world)["rejected"] == rejected - 10)
            let listed = try await world.orchestrator.halts(of: world.app, PageRequest())
            #expect(listed.items.map(\.isResuming) == [true])

            try await halts.goOnLifting()
            #expect(try await world.orchestrator.halts(of: world.app, PageRequest()).items.isEmpty)
            #expect(try await world.events(.providerResumed).map { $0.detail["by"] } == ["operator"])
            _ = world.recorder.take()
            try await world.settle()
            #expect(world.recorder.take().count == 400)
        }
    }

    @Test("A halt that cannot be lifted holds up no other")
    func failingLift() async throws {
        try await withHalt { world in
            try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                SELECT bundle_id, 'sandbox', suspect_from, answers, rejections, probe_at FROM sending_halts
                """
            )
            try await world.database.execute("UPDATE sending_halts SET lifting = 'operator'")
            try await world.database.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''full''; END'
                """
            )
            try await world.database.execute(
                """
                CREATE TRIGGER refuse BEFORE DELETE ON sending_halts FOR EACH ROW
                WHEN (old.environment = 'production') EXECUTE FUNCTION refuse()
                """
            )
            try await world.orchestrator.deliveryStore.halts.goOnLifting()
            let left: Query = "SELECT string_agg(environment::text, ' ') FROM sending_halts"
            #expect(try await world.word(left) == "production")
            try await world.database.execute("DROP TRIGGER refuse ON sending_halts")
            try await world.orchestrator.deliveryStore.halts.goOnLifting()
            #expect(try await world.word(left) == nil)
        }
    }

    @Test("A worker does not wait for a halt that is being lifted")
    func probeDuringLift() async throws {
        try await withHalt { world in
            try await world.database.execute("UPDATE sending_halts SET probe_at = now()")
            let scope = HaltScope(app: world.app, environment: .production)
            let halt = SendingHalt(probes: 0, probeIn: .zero)
            try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM sending_halts FOR UPDATE")
                #expect(try await !world.orchestrator.deliveryStore.halts.takeProbe(scope, halt))
            }
            try await world.database.execute("UPDATE sending_halts SET lifting = 'operator'")
            #expect(try await !world.orchestrator.deliveryStore.halts.takeProbe(scope, halt))
            try await world.database.execute("UPDATE sending_halts SET lifting = NULL")
            #expect(try await world.orchestrator.deliveryStore.halts.takeProbe(scope, halt))
        }
    }

    @Test("A probe that stands in the way of others gives way, and its pushes leave all the same")
    func probeGivesWay() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2)
            try await world.settle()
            _ = world.recorder.take()
            _ = try await world.database.pipeline([
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now() - interval '1 hour', 1, 1, now())
                """,
                "UPDATE subscriptions SET state = 'rejected', rejected_at = now()",
            ])
            try await endPause(world)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { other in
                    // It is the probe that finds out.
                    _ = try await other.query("SELECT set_config('deadlock_timeout', '1 min', true)")
                    for end in ["max", "min"] {
                        _ = try await other.query(
                            """
                            SELECT FROM subscriptions
                            WHERE device_key = (SELECT \(unescaped: end)(device_key) FROM subscriptions) FOR NO KEY UPDATE
                            """
                        )
                        guard end == "max" else { break }
                        group.addTask { try await world.settle() }
                        try await world.someoneWaits()
                    }
                }
                try await group.waitForAll()
            }
            #expect(!world.recorder.take().isEmpty)
        }
    }

    @Test("What no daemon has seen enough of by itself counts together")
    func shared() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(60)
            try await world.settle()
            world.recorder.answerAll(with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            try await world.orchestrator.deliveryStore.halts.share()
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == 0, "60 answers decide nothing")

            let other = world.sibling()
            await other.orchestrator.deliveryStore.halts.observe(
                AnswerWatch.Count(answers: 60, rejections: 0),
                of: [],
                in: HaltScope(app: world.app, environment: .production)
            )
            try await other.orchestrator.deliveryStore.halts.share()
            #expect(try await world.number("SELECT answers::int8 FROM sending_halts") == 120)
            #expect(try await world.number("SELECT rejections::int8 FROM sending_halts") == 60)
        }
    }

    @Test("A token that was rejected long before a halt stays rejected when it is lifted")
    func olderRejections() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("old", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            _ = try await world.database.execute(
                "UPDATE subscriptions SET rejected_at = rejected_at - interval '61 seconds'"
            )
            try await world.crowd(200)
            world.recorder.answerAll(with: .badToken)
            try await world.update(score: 2)
            try await world.settle()
            world.recorder.answerAll(with: nil)
            try await world.orchestrator.liftHalt(world.app, .production, reviving: true)
            try await world.settle()

            #expect(try await world.subscription("old") == "rejected")
            #expect(try await states(world)["riding"] == 200)
        }
    }

    @Test("Rejected start tokens count and are revived with their starts", arguments: ["probe", "operator"])
    func starts(lifter: String) async throws {
        try await withWorld { world in
            world.recorder.answerAll(with: .badToken)
            for number in 1...120 {
                try await world.register("phone\(number)", token: World.crowdToken(number))
            }
            try await world.start(to: Audience(allOfType: true))
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == 1)
            let before = world.recorder.take().count
            #expect(before >= 100)

            world.recorder.answerAll(with: nil)
            if lifter == "probe" {
                try await endPause(world)
            } else {
                try await world.database.execute("UPDATE segments SET due_at = NULL")
                try await world.orchestrator.liftHalt(world.app, .production, reviving: true)
            }
            try await world.settle()
            #expect(Set(world.recorder.take().filter { $0.event == "start" }.map(\.destination)).count == 120)
            #expect(try await world.number("SELECT count(*) FROM start_tokens WHERE state = 'live'") == 120)
        }
    }

    @Test(
        "Dead tokens never halt sending, nor do other refusals",
        arguments: [
            PushOutcome.unregistered(at: nil), .unavailable, .badKey,
            PushOutcome(.tokenRejected, status: 410, reason: "Novel"),
        ]
    )
    func otherAnswers(outcome: PushOutcome) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(200)
            world.recorder.answerAll(with: outcome)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == 0)
        }
    }

    /// How a phone that lies makes APNs reject.
    enum Lie: CaseIterable { case updateTokens, startTokens }

    @Test("One phone that reports a new wrong token every moment halts nobody's sending", arguments: Lie.allCases)
    func liar(lie: Lie) async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("liar"))
            try await world.crowd(150)
            for number in 100..<160 {
                let token = "5a" + String(number, radix: 16)
                world.recorder.answer(token, with: .badToken)
                switch lie {
                case .updateTokens: try await world.follow("liar", token: token)
                case .startTokens: try await world.register("liar", token: token)
                }
                try await world.settle()
            }
            #expect(world.recorder.take().count >= 60)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().count == 150)
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == 0)
        }
    }

    @Test("A token that was rejected after all others, and always will be, does not keep sending halted")
    func lastRejected() async throws {
        try await withHalt { world in
            try await world.start("other")
            try await world.follow("liar", token: "bb01", in: "other", known: 1)
            try await world.database.execute(
                "UPDATE subscriptions SET state = 'rejected', due_at = NULL WHERE update_token = '\\xbb01'"
            )
            world.recorder.answerAll(with: nil)
            world.recorder.answer("bb01", with: .badToken, .badToken)
            try await endPause(world)
            try await world.settle()
            #expect(try await world.events(.providerResumed).map { $0.detail["by"] } == ["probe"])
        }
    }

    @Test("A halt is for one environment of one app")
    func scope() async throws {
        try await withHalt { world in
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.database.execute(
                """
                INSERT INTO signing_keys SELECT bundle_id, 'sandbox', key_id, private_key_sealed FROM signing_keys
                """
            )
            let halt = try await world.snapshot(
                of: try #require(try await world.number("SELECT activity_key FROM activities"))
            )?.halt
            #expect(halt != nil)
            try await world.start("friendly") { $0.environment = .sandbox }
            let key = try #require(
                try await world.number("SELECT activity_key FROM activities WHERE activity_id = 'friendly'")
            )
            #expect(try await world.snapshot(of: key)?.halt == nil)
        }
    }

    @Test("A rejected token is never tried on the other host")
    func otherHost() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            try await world.update(score: 2)
            try await world.hurry()
            try await world.settle()

            #expect(world.recorder.pushes(to: "aa01").map(\.environment) == [.production])
        }
    }
}
