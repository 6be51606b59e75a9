import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@Suite("Priorities along a ring", .timeLimit(.minutes(2)))
struct RingPriorityTests {
    /// Lends a world with so many phones that ride and have been sent the start, every tenth of which allows frequent
    /// pushes.
    private func withCrowd(_ count: Int, _ body: (World) async throws -> Void) async throws {
        try await withWorld(policy: { $0.budget.ordinary = 3 }) { world in
            try await world.start()
            try await world.crowd(count)
            _ = try await world.database.execute(
                "UPDATE subscriptions SET frequent = true WHERE right(encode(update_token, 'hex'), 1) = '0'"
            )
            try await world.settle()
            _ = world.recorder.take()
            try await body(world)
        }
    }

    /// What the ledger says of the newest change, by class.
    private func ledger(_ world: World) async throws -> [String] {
        try await world.database.query(
            """
            SELECT concat_ws(' ', class, priority, reason) FROM budget_ledger JOIN activities USING (activity_key, revision)
            ORDER BY class
            """
        ).decoded(as: String.self)
    }

    /// What the timeline says of the priority of a revision, and why.
    private func told(_ world: World, _ revision: Revision, to device: String? = nil) async throws -> [String] {
        try await world.explain(device, PageRequest(limit: 1_000)).page.items.filter {
            $0.kind == "priority" && $0.revision == revision
        }.map {
            "\($0.budgetClass ?? "all") \($0.priority ?? 0) \($0.reason ?? "")"
        }.sorted()
    }

    @Test(
        "A routine change asks no budget and leaves nothing on the ledger; the timeline tells its priority once it left"
    )
    func routine() async throws {
        try await withCrowd(300) { world in
            let gate = world.recorder.close()
            try await world.update(score: 1)
            let walk = Task { try await world.settle() }
            await gate.arrivals(3)
            #expect(try await told(world, 2) == [])
            world.recorder.open()
            try await walk.value
            let pushes = world.recorder.take()
            #expect(pushes.count == 300)
            #expect(pushes.allSatisfy { $0.priority == .five })
            #expect(try await world.number("SELECT count(*) FROM budget_ledger") == 0)
            #expect(try await told(world, 2) == ["all 5 routine"])
            #expect(try await told(world, 2, to: "crowd1") == ["ordinary 5 routine"])
            #expect(try await told(world, 2, to: "crowd10") == ["frequent 5 routine"])
        }
    }

    @Test("Routine changes that nobody was there for have no priority, whatever is sent or refused afterwards")
    func unridden() async throws {
        try await withWorld { world in
            try await world.start()
            for score in Int64(1)...3 { try await world.update(score: score) }
            await #expect(throws: Problem.self) { try await world.update(score: 4) { $0.contentState = [:] } }
            try await world.settle()
            for revision in 2...4 { #expect(try await told(world, Revision(revision)) == []) }
            try await world.follow("d1", token: "aa01", known: 4)
            try await world.settle()
            #expect(try await told(world, 4, to: "d1") == [])
            // Stamps do not run ahead of the clock.
            try await world.pass(5)
            try await world.update(score: 5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [5])
            #expect(try await told(world, 5) == ["all 5 routine"])
            for revision in 2...4 { #expect(try await told(world, Revision(revision)) == []) }
        }
    }

    @Test("What an older daemon put on the ledger of a routine change is told as it stands, and not twice")
    func olderDaemon() async throws {
        try await withCrowd(20) { world in
            try await world.update(score: 1)
            try await world.settle()
            _ = try await world.database.execute(
                """
                INSERT INTO budget_ledger (activity_key, class, revision, priority, reason)
                SELECT activity_key, 'ordinary', 2, 5, 'routine' FROM activities
                """
            )
            #expect(try await told(world, 2) == ["ordinary 5 routine"])
            #expect(try await told(world, 2, to: "crowd1") == ["ordinary 5 routine"])
            #expect(try await told(world, 2, to: "crowd10") == ["frequent 5 routine"])
        }
    }

    @Test("An end leaves without the ledger, which tells of it once, by the time of the decision")
    func withoutBudget() async throws {
        try await withCrowd(300) { world in
            let gate = world.recorder.close()
            try await world.end()
            let walk = Task { try await world.settle() }
            await gate.arrivals(3)
            #expect(try await ledger(world) == [])
            let now = try await world.word("SELECT clock_timestamp()::text")
            world.recorder.open()
            try await walk.value
            #expect(try await ledger(world) == ["ordinary 10 end", "frequent 10 end"])
            let pushes = world.recorder.take()
            #expect(pushes.count == 300)
            #expect(pushes.allSatisfy { $0.priority == .ten })
            #expect(
                try await world.number(
                    """
                    SELECT count(*) FROM budget_ledger AS b JOIN changes AS c USING (activity_key, revision)
                    JOIN segments AS s USING (activity_key)
                    WHERE b.decided_at > c.accepted_at AND b.decided_at < \(now)::text::timestamptz AND c.revision = s.completed_revision
                    """
                ) == 2
            )
        }
    }

    @Test("A failure of all is tried again with the priority that was decided")
    func failure() async throws {
        try await withCrowd(40) { world in
            world.recorder.answerAll(with: .tooMany)
            try await world.update(score: 1) { $0.urgency = .notable }
            try await world.settle()
            let decided = try await world.word("SELECT min(decided_at)::text FROM budget_ledger")
            #expect(try await ledger(world) == ["ordinary 10 notable", "frequent 10 notable"])
            world.recorder.answerAll(with: nil)
            try await world.hurry()
            try await world.settle()
            #expect(try await world.show().progress.current == 40)
            #expect(try await world.word("SELECT min(decided_at)::text FROM budget_ledger") == decided)
        }
    }

    @Test(
        "Only those who have not heard an alert get the routine change that it rides on at priority 10, by the alert's unit",
        arguments: [1, 200]
    )
    func alertBefore(firstDeaf: Int) async throws {
        try await withCrowd(256) { world in
            try await world.update(score: 1, alert: "Goal")
            try await world.update(score: 2)
            // They have had the alert already.
            _ = try await world.database.execute(
                """
                UPDATE subscriptions SET known_revision = 2, confirmed_revision = 2, heard_revision = 2, frequent = false
                WHERE device_key IN (SELECT device_key FROM subscriptions ORDER BY device_key OFFSET \(firstDeaf - 1) LIMIT 20)
                """
            )
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.count == 256)
            #expect(try await ledger(world) == [])
            let reasons: Query = "SELECT DISTINCT concat_ws(' ', revision, priority, reason) FROM budget_ledger"
            #expect(try await world.database.query(reasons).decoded(as: String.self) == ["2 10 alert"])
            let deaf = Set((firstDeaf..<(firstDeaf + 20)).map(World.crowdToken))
            let (hearing, others) = (
                pushes.filter { !deaf.contains($0.destination) }, pushes.filter { deaf.contains($0.destination) }
            )
            #expect(hearing.allSatisfy { $0.priority == .ten })
            #expect(others.allSatisfy { $0.priority == .five })
        }
    }
}
