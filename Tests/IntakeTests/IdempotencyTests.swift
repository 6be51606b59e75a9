import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Channels
@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Idempotency keys", .timeLimit(.minutes(2)))
struct IdempotencyTests {
    private func key(
        _ text: String,
        body: UInt8 = 1,
        path: String = "/updates",
        of caller: String = "k1"
    )
        -> IdempotencyKey
    {
        IdempotencyKey(
            apiKeyID: caller,
            app: BundleID(stored: "com.example.app"),
            method: "POST",
            path: path,
            key: text,
            bodyHash: [body]
        )
    }

    @Test("A request with a known key is answered as before and changes nothing")
    func kept() async throws {
        try await withWorld { world in
            try await world.start()
            let first = try await world.update(score: 1, key: key("a"))
            try await world.update(score: 2)
            #expect(try await world.update(score: 1, key: key("a")) == first)
            #expect(try await world.show().revision == 3)
            #expect(try await world.update(score: 3, key: key("a", path: "/other")).revision == 4)
        }
    }

    @Test("A key with another body is refused; one whose request was refused is free")
    func reused() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1, key: key("a"))
            let reused = try await problem { try await world.update(score: 2, key: key("a", body: 2)) }
            #expect(reused?.code == "idempotency_key_reused")
            let late = Instant(microseconds: 1)
            try await world.update(score: 3) { $0.eventTime = Instant(microseconds: 2) }
            #expect(
                try await problem { try await world.update(score: 4, key: key("b")) { $0.eventTime = late } } != nil
            )
            #expect(try await world.update(score: 4, key: key("b", body: 2)).revision == 4)
        }
    }

    @Test("A request that was scheduled is answered as before when its time has passed")
    func passedTime() async throws {
        try await withWorld { world in
            try await world.start()
            var answers: [Replayable<ChangeAnswer>] = []
            for seconds: Int64 in [4_000_000_000, 1] {
                let request = UpdateRequest(contentState: World.state(1), at: Instant(unixSeconds: seconds))
                answers.append(
                    try await world.orchestrator.intake.update(
                        world.app,
                        ActivityID(stored: "final"),
                        request,
                        idempotency: key("a"),
                        origin: nil
                    )
                )
            }
            #expect(answers[0].answer == answers[1].answer)
            #expect(answers.map(\.isReplay) == [false, true])
            #expect(try await world.show().revision == 1)
        }
    }

    @Test("Another caller's key of the same text is another key: nothing is replayed to it, nothing is in its way")
    func otherCaller() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.start("of-others")
            let mine = try await world.update(score: 1, key: key("a"))
            let theirs = try await world.update("of-others", score: 5, key: key("a", body: 2, of: "k2"))
            #expect(theirs.revision == 2)
            #expect(try await world.show("of-others").contentState == World.state(5))
            // The same path and body as mine: theirs is answered with what is theirs, and mine stays as it was.
            #expect(try await world.update(score: 3, key: key("a", of: "k3")).revision == 3)
            #expect(try await world.update(score: 1, key: key("a")) == mine)
        }
    }

    @Test("Of requests with one key that come at once, to one daemon or two, one is carried out")
    func atOnce() async throws {
        try await withWorld { world in
            let other = world.sibling()
            try await world.start()
            try await other.withIntake {
                let answers = try await withThrowingTaskGroup(of: Accepted.self) { group in
                    for number in 1...20 {
                        let daemon = number.isMultiple(of: 2) ? world : other
                        group.addTask { try await daemon.update(score: 1, alert: "Messi", key: key("a")) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.allSatisfy { $0 == answers.first })
            }
            #expect(try await world.show().revision == 2)
        }
    }

    @Test("A change whose COMMIT broke is there once when its key was repeated", arguments: [false, true])
    func brokenCommit(tookEffect: Bool) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 7)
            // The answer to COMMIT is lost; or the connection breaks in the middle of it, when constraints are checked.
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if tookEffect, moment == .afterCommit { throw PostgresError(.commitUnknown) }
            }
            if !tookEffect {
                try await world.database.withConnection { connection in
                    try await connection.executeScript(
                        """
                        CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS
                            'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                        CREATE CONSTRAINT TRIGGER break AFTER INSERT ON changes DEFERRABLE INITIALLY DEFERRED
                            FOR EACH ROW EXECUTE FUNCTION break();
                        """
                    )
                }
            }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                let error = await #expect(throws: PostgresError.self) {
                    try await other.update(score: 1, alert: "Messi", key: key("a"))
                }
                #expect(error.flatMap { other.orchestrator.problem(for: $0) }?.code == "outcome_unknown")
            }
            #expect(try await world.show().revision == (tookEffect ? 3 : 2))
            _ = try await world.database.execute("DROP TRIGGER IF EXISTS break ON changes")
            for _ in 1...2 {
                #expect(try await world.update(score: 1, alert: "Messi", key: key("a")).revision == 3)
            }
            let stored: Query = "SELECT count(*) FROM changes WHERE revision > 1 AND alert IS NOT NULL"
            #expect(try await world.number(stored) == 1)
        }
    }

    @Test("A key is kept for 24 hours, then it is new, and is forgotten")
    func expiry() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1, key: key("a"))
            try await world.update(score: 2, key: key("b"))
            try await world.pass(24 * 3600 - 60)
            #expect(try await world.update(score: 1, key: key("a")).revision == 2)
            try await world.pass(120)
            #expect(try await world.update(score: 1, key: key("a")).revision == 4)
            #expect(try await ExpiryDuty(store: world.orchestrator.store).forgetSome(.keptAnswers) == 1)
            #expect(try await world.number("SELECT (answer ->> 'revision')::int8 FROM idempotency_keys") == 4)
        }
    }

    @Test("An app that is made anew knows no key of the former one, whichever daemon is asked")
    func formerApp() async throws {
        try await withWorld { world in
            let other = world.sibling()
            func end() async throws -> Replayable<ChangeAnswer> {
                let id = ActivityID(stored: "final")
                let request = EndRequest(contentState: World.state(9))
                return try await other.orchestrator.intake.end(
                    world.app,
                    id,
                    request,
                    idempotency: key("end"),
                    origin: nil
                )
            }
            try await other.withIntake {
                try await world.start()
                // The other daemon remembers the activity from now on.
                try await other.update(score: 1, key: key("a"))
                #expect(try await !end().isReplay)
                try await world.settle()
                try await world.orchestrator.deleteApp(world.app)
                let gone = try await problem { try await other.update(score: 1, key: key("a")) }
                #expect(gone != nil)
                try await world.prepare(Policy())
                try await world.start()
                // Another body is no mistake: it is another app's request.
                #expect(try await other.update(score: 2, key: key("a", body: 2)).revision == 2)
                #expect(try await world.show().contentState == World.state(2))
                #expect(try await !end().isReplay)
                #expect(try await world.show().state == .ended)
                // Now they are kept as ever.
                #expect(try await other.update(score: 3, key: key("a", body: 2)).revision == 2)
                #expect(try await end().isReplay)
                #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == 2)
            }
        }
    }

    @Test("Keys of several apps are looked up together, each by its own app")
    func severalApps() async throws {
        try await withWorld { world in
            let here = key("a")
            let elsewhere = IdempotencyKey(
                apiKeyID: "k1",
                app: BundleID(stored: "com.example.gone"),
                method: "POST",
                path: "/elsewhere",
                key: "a",
                bodyHash: [1]
            )
            try await world.database.withTransaction { connection in
                var kept = try await KeptAnswers<ChangeAnswer>.read([], on: connection)
                for one in [here, elsewhere] { kept.keep(.scheduled(scheduleID: "s"), for: one) }
                _ = try await connection.pipeline(kept.statements)
                let read = try await KeptAnswers<ChangeAnswer>.read([elsewhere, here], on: connection)
                #expect(try read.answer(to: here) == .scheduled(scheduleID: "s"))
                #expect(try read.answer(to: elsewhere) == nil)
            }
        }
    }

    @Test("A scheduled change with a known key is scheduled once, also when two come at the same moment")
    func schedules() async throws {
        try await withWorld { world in
            try await world.start()
            var request = UpdateRequest(contentState: World.state(1))
            request.at = Instant(microseconds: 4_000_000_000_000_000)
            let answers = try await withThrowingTaskGroup(of: ChangeAnswer.self) { [request] group in
                for _ in 1...6 {
                    group.addTask {
                        try await world.orchestrator.intake.update(
                            world.app,
                            ActivityID(stored: "final"),
                            request,
                            idempotency: key("a"),
                            origin: nil
                        ).answer
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(answers).count == 1)
            #expect(try await world.number("SELECT count(*) FROM schedules") == 1)
        }
    }

    @Test("A change of an audience with a known key is answered as before and undoes nothing that came since")
    func audiences() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d2"))
            func change(
                add: Audience? = nil,
                remove: Audience? = nil,
                _ key: IdempotencyKey?
            ) async throws
                -> AudienceCounts
            {
                let request = AudienceRequest(add: add, remove: remove)
                return try await world.orchestrator.intake.changeAudience(
                    world.app,
                    ActivityID(stored: "final"),
                    request,
                    idempotency: key
                ).answer
            }
            let added = try await change(add: World.devices("d1"), key("a"))
            #expect(added.devices == 1)
            #expect(try await change(remove: World.devices("d1"), nil).devices == 0)
            #expect(try await change(add: World.devices("d1"), key("a")) == added)
            #expect(try await change(remove: World.devices("d2"), key("b")).devices == 0)
            let reused = try await problem { _ = try await change(add: World.devices("d1"), key("a", body: 2)) }
            #expect(reused?.code == "idempotency_key_reused")
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 0)
        }
    }

    @Test(
        "A key that is held by a daemon of which nothing is heard any more lapses, and the next request is carried out"
    )
    func silentHolder() async throws {
        try await withWorld { world in
            let key = key("a", path: "/channels")
            let (holding, held) = AsyncStream.makeStream(of: Void.self)
            // Stands still with the key in its hand, as a daemon does that is paused while it asks Apple.
            let holder = Task {
                try await world.database.withTransaction { connection in
                    try await Channels.holdKey(key, on: connection)
                    held.yield()
                    try await Task.sleep(for: .seconds(600))
                }
            }
            defer { holder.cancel() }
            for await _ in holding { break }
            let request = ChannelRequest(storage: .none)
            var refusals: [String] = []
            try await eventually("the key lapses", every: .milliseconds(100)) {
                do {
                    _ = try await world.orchestrator.createChannel(world.app, request, idempotency: key)
                    return true
                } catch let problem as Problem {
                    refusals.append(problem.code)
                    return false
                }
            }
            #expect(!refusals.isEmpty && Set(refusals) == ["idempotency_in_progress"])
            #expect(try await world.number("SELECT count(*) FROM channels") == 1)
            holder.cancel()
            _ = await holder.result
        }
    }

    @Test(
        "What a million keys cost: the table grows by a row each and is emptied in bounded steps",
        .timeLimit(.minutes(3))
    )
    func many() async throws {
        try await withWorld { world in
            try await world.start()
            let keys = 5_000
            for start in stride(from: 0, to: keys, by: 1_000) {
                let changes = (start..<start + 1_000).map { number in
                    KeyedOperation(
                        BatchOperation(
                            .update(ActivityID(stored: "final"), UpdateRequest(contentState: World.state(0)))
                        ),
                        idempotency: .init(key("key-\(number)"))
                    )
                }
                let answers = await world.orchestrator.intake.batch(world.app, changes, origin: nil)
                #expect(answers.allSatisfy { if case .success = $0 { true } else { false } })
            }
            #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == Int64(keys))
            #expect(try await world.show().revision == 1)
            try await world.pass(24 * 3600 + 60)
            let expiry = ExpiryDuty(store: world.orchestrator.store)
            #expect(try await expiry.forgetSome(.keptAnswers) == keys)
            #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == 0)
        }
    }

    /// Adds a page of one user to the only activity, as a part of a list with a key.
    private func add(_ number: Int, lines: Int, isLast: Bool, to world: World) async throws -> AudienceListProgress {
        let page = AudienceListPage(
            number: number,
            members: Audience(users: [UserID(stored: "u\(number)")]),
            lines: lines,
            digest: [UInt8(number)],
            isLast: isLast
        )
        let list = key("list", path: "/audience")
        return try await world.orchestrator
            .intake.addToAudience(world.app, ActivityID(stored: "final"), page, idempotency: list)
    }

    @Test("The progress of a list is gone with its app: the same list begins anew")
    func progressOfFormerApp() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            _ = try await add(1, lines: 1, isLast: false, to: world)
            #expect(try await add(1, lines: 1, isLast: false, to: world).isKept)
            try await world.end()
            try await world.settle()
            try await world.orchestrator.deleteApp(world.app)
            try await world.prepare(Policy())
            try await world.start(to: Audience())
            #expect(try await !add(1, lines: 1, isLast: false, to: world).isKept)
            #expect(try await add(2, lines: 2, isLast: true, to: world).isComplete)
            #expect(try await world.number("SELECT count(*) FROM audience_members") == 2)
            #expect(try await add(2, lines: 2, isLast: true, to: world).isReplay)
        }
    }

    @Test("The progress of a list is kept for 24 hours from its last page on")
    func progressIsForgotten() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let expiry = ExpiryDuty(store: world.orchestrator.store)
            _ = try await add(1, lines: 1, isLast: false, to: world)
            try await world.pass(23 * 3600)
            _ = try await add(2, lines: 2, isLast: false, to: world)
            try await world.pass(2 * 3600)
            #expect(try await expiry.forgetSome(.keptAnswers) == 0)
            #expect(try await add(1, lines: 1, isLast: false, to: world).answer.lines == 2)
            try await world.pass(23 * 3600)
            #expect(try await expiry.forgetSome(.keptAnswers) == 1)
            // The key is free, and the list begins anew.
            #expect(try await add(1, lines: 1, isLast: true, to: world).isComplete)
        }
    }
}
