import APITypes
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Store
import Testing

@testable import Delivery
@testable import Orchestrator

@Suite("Pace: routine changes, silence and clocks", .timeLimit(.minutes(2)))
struct PacingTests {
    private static let rule = PolicyRule(changed: knownGood(JSONPointer("/score")), minimumIntervalSeconds: 30)

    private static func knownGood(_ pointer: JSONPointer?) -> JSONPointer { pointer ?? JSONPointer() }

    /// An activity with one card whose clock may be told every 30 seconds, and was told a moment ago.
    private func withPaced(_ delivery: Delivery = .tokens, _ body: (World) async throws -> Void) async throws {
        try await withWorld(policy: { $0.rules = [Self.rule] }) { world in
            try await world.start(delivery: delivery)
            if delivery == .tokens { try await world.follow("phone", token: "aa01", known: 1) }
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1], "nothing was sent before, so it waits for nothing")
            // Stamps are not to run ahead of the clock.
            try await world.pass(5)
            try await body(world)
        }
    }

    @Test(
        "A routine change waits until the interval since the last push is over; then the newest state leaves, once",
        arguments: [Delivery.tokens, .channel]
    )
    func interval(delivery: Delivery) async throws {
        try await withPaced(delivery) { world in
            try await world.update(score: 2)
            try await world.settle()
            try await world.pass(15)
            try await world.update(score: 3)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.pass(11)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [3])
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.number("SELECT merged_into FROM changes WHERE revision = 3") == 4)
        }
    }

    @Test("The wait is the segment's row: another daemon sees to it, whatever became of the first")
    func survives() async throws {
        try await withPaced { world in
            try await world.update(score: 2)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).run()
            let wait = try await world.number("SELECT extract(epoch FROM due_at - now())::int8 FROM segments")
            #expect((1...30).contains(wait ?? 0))
            #expect(world.recorder.take().isEmpty)
            try await world.pass(31)
            try await world.sibling().settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test(
        "A clock that was set back by an hour holds a change back for its interval, not for the hour",
        arguments: [Delivery.tokens, .channel]
    )
    func clockSetBack(delivery: Delivery) async throws {
        try await withPaced(delivery) { world in
            try await world.database.execute("UPDATE segments SET pushed_at = pushed_at + interval '1 hour'")
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            let wait = try await world.number("SELECT extract(epoch FROM max(due_at) - now())::int8 FROM segments")
            #expect((20...30).contains(wait ?? 0))
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test(
        "What was held back before the clock was set back leaves at the next look",
        arguments: [Delivery.tokens, .channel]
    )
    func heldBackWhenSetBack(delivery: Delivery) async throws {
        try await withPaced(delivery) { world in
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            _ = try await world.database.pipeline([
                "UPDATE segments SET pushed_at = pushed_at + interval '1 hour'",
                "UPDATE changes SET accepted_at = accepted_at + interval '1 hour'",
            ])
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test("What is not routine waits for nothing, and takes what was held back with it")
    func urgent() async throws {
        let urgent: [(String, (inout UpdateRequest) -> Void)] = [
            ("an urgency of its own", { $0.urgency = .notable }), ("an alert", { $0.alert = World.alert("Goal") }),
            ("must_deliver", { $0.mustDeliver = true }), ("routine, said by the caller", { $0.urgency = .routine }),
        ]
        for (what, change) in urgent {
            try await withPaced { world in
                try await world.update(score: 2)
                try await world.settle()
                try await world.update(score: 3, change)
                try await world.settle()
                #expect(world.recorder.take().map(\.score) == [3], "\(what)")
            }
        }
    }

    @Test("The end waits for no interval")
    func end() async throws {
        try await withPaced { world in
            try await world.update(score: 2)
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("A late joiner gets what is held back for the others")
    func lateJoiner() async throws {
        try await withPaced { world in
            try await world.update(score: 2)
            try await world.settle()
            try await world.follow("late", token: "aa02")
            try await world.settle()
            #expect(world.recorder.take().map { "\($0.destination) \($0.score ?? 0)" } == ["aa02 2"])
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map { "\($0.destination) \($0.score ?? 0)" } == ["aa01 2"])
        }
    }

    @Test("What is repeated for those who join a channel late puts off no change that is held back")
    func repeats() async throws {
        try await withPaced(.channel) { world in
            try await world.update(score: 2)
            for number in 1...3 {
                try await world.report("late\(number)", .channel, known: 1)
                try await world.pass(11)
                try await world.settle()
            }
            #expect(world.recorder.take().map(\.score) == [1, 1, 2])
        }
    }

    @Test("A push that has to be repeated does not wait for the interval of the others")
    func retry() async throws {
        try await withPaced { world in
            world.recorder.answer("aa02", with: .unavailable)
            try await world.follow("late", token: "aa02")
            try await world.update(score: 2)
            try await world.settle()
            _ = world.recorder.take()
            try await world.pass(3)
            try await world.settle()
            #expect(world.recorder.take().map { "\($0.destination) \($0.score ?? 0)" } == ["aa02 2"])
        }
    }

    @Test("A demotion is reported once for each class, in words")
    func demotion() async throws {
        try await withWorld(policy: { $0.budget.ordinary = 1 }) { world in
            try await world.start()
            for number in 1...3 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            try await world.update(score: 1) { $0.urgency = .critical }
            try await world.settle()

            #expect(world.recorder.take().map(\.priority) == [.five, .five, .five])
            let events = try await world.events(.demoted)
            #expect(events.map { $0.detail["class"] } == ["ordinary"])
            #expect(events.first?.detail["revision"] == 2)
            #expect(events.first?.detail["reason"] == "critical_over_budget")
            #expect(
                events.first?.detail["explanation"]
                    == "A critical change goes out with priority 5: 1 unit is left, and the last is kept for the end."
            )
            #expect(
                try await world.word("SELECT explanation FROM budget_ledger")
                    == events.first?.detail["explanation"]?.string
            )
        }
    }

    // MARK: Silence

    private func runDue(_ world: World) async throws {
        while try await ScheduleRunner(orchestrator: world.orchestrator).runDue() {}
        try await world.settle()
    }

    @Test(
        "An activity that is silent for as long as the policy allows is ended; each change puts it off, without a write"
    )
    func silence() async throws {
        try await withWorld(policy: { $0.endWhenSilentSeconds = 600 }) { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            try await world.pass(599)
            try await runDue(world)
            #expect(try await world.show().state == .live)
            let before = try await world.word("SELECT due_at::text FROM schedules")
            try await world.update(score: 1)
            #expect(try await world.word("SELECT due_at::text FROM schedules") == before)
            try await world.pass(1)
            try await runDue(world)
            #expect(try await world.show().state == .live)
            try await world.pass(598)
            try await runDue(world)
            #expect(try await world.show().state == .live)
            _ = world.recorder.take()
            try await world.pass(2)
            try await runDue(world)
            #expect(try await world.show().state == .ended)
            #expect(world.recorder.take().map { "\($0.event ?? "") \($0.score ?? -1)" } == ["end 1"])
        }
    }

    @Test("The newest state again is a sign of life, too, which is written once in a tenth of the limit")
    func unchangedIsNoSilence() async throws {
        try await withWorld(policy: { $0.endWhenSilentSeconds = 600 }) { world in
            let heard = {
                try await world.number("SELECT (extract(epoch FROM heard_at) * 1000000)::int8 FROM schedules")
            }
            try await world.start()
            try await world.pass(590)
            #expect(try await world.update(score: 0).isUnchanged)
            let first = try #require(try await heard())
            try await world.update(score: 0)
            #expect(try await heard() == first)
            try await world.pass(30)
            try await runDue(world)
            #expect(try await world.show().state == .live)
            try await world.update(score: 0)
            #expect(try await heard() == first - 30_000_000)
            try await world.pass(40)
            try await world.update(score: 0)
            #expect(try #require(try await heard()) > first - 30_000_000)
            // The limit is longer by the tenth in which posts are not written.
            try await world.pass(620)
            try await runDue(world)
            #expect(try await world.show().state == .live)
            try await world.pass(45)
            try await runDue(world)
            #expect(try await world.show().state == .ended)
        }
    }

    @Test("Silence begins when a scheduled activity does")
    func scheduledSilence() async throws {
        try await withWorld(policy: { $0.endWhenSilentSeconds = 60 }) { world in
            let startsAt = try #require(
                try await world.number("SELECT (extract(epoch FROM now()) * 1000000)::int8 + 3600000000")
            )
            try await world.start { $0.startsAt = Instant(microseconds: startsAt) }
            try await world.pass(3590)
            try await runDue(world)
            #expect(try await world.show().state == .scheduled)
            try await world.pass(11)
            try await runDue(world)
            #expect(try await world.show().state == .live)
            try await world.pass(70)
            try await runDue(world)
            #expect(try await world.show().state == .ended)
        }
    }

    // MARK: The clock

    @Test("When the database's clock steps back, order wins and operators are told, once")
    func clockSkew() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            _ = world.recorder.take()
            // As if the clock had been set back by an hour.
            try await world.database.execute("UPDATE activities SET stamp = stamp + 3600")
            try await world.database.execute("UPDATE changes SET timestamp = timestamp + 3600")
            let last = try #require(try await world.number("SELECT stamp FROM activities"))
            for score in Int64(2)...4 {
                try await world.update(score: score)
                try await world.settle()
            }
            let stamps = world.recorder.take().map(\.timestamp)
            #expect(stamps == [last + 1, last + 2, last + 3], "nothing waits for an hour")
            let events = try await world.events(.clockSkew)
            #expect(events.map(\.activity?.rawValue) == ["final"])
            #expect((3590...3601).contains(events.first?.detail["seconds"]?.int64 ?? 0))
            #expect(try await world.orchestrator.warnings().count == 1)
        }
    }
}
