import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("Schedules", .timeLimit(.minutes(2)))
struct ScheduleTests {
    /// In the year 2096; a test says itself when that has come.
    private static let later = Instant(microseconds: 4_000_000_000_000_000)

    private func schedule(
        _ world: World,
        score: Int64,
        _ change: (inout UpdateRequest) -> Void = { _ in }
    ) async throws -> String {
        var request = UpdateRequest(contentState: World.state(score))
        request.at = Self.later
        change(&request)
        let answer = try await world.orchestrator.intake.update(
            world.app,
            ActivityID(stored: "final"),
            request,
            origin: nil
        )
        guard case .scheduled(let id) = answer.answer else { throw Accepted.IsScheduled() }
        return id
    }

    @Test("A schedule that is run by hand happens now, once, whatever is asked later")
    func runNow() async throws {
        try await withWorld { world in
            try await world.start()
            let id = try await schedule(world, score: 4)
            #expect(try await world.orchestrator.runSchedule(world.app, id).state == .done)
            #expect(try await world.show().revision == 2)
            #expect(try await world.orchestrator.runSchedule(world.app, id).state == .done)
            #expect(try await world.show().revision == 2)
            let other = BundleID(stored: "com.example.other")
            let foreign = try await problem { _ = try await world.orchestrator.runSchedule(other, id) }
            #expect(foreign?.status == 404)
            let cancelled = try await schedule(world, score: 5)
            try await world.orchestrator.cancelSchedule(world.app, cancelled)
            let settled = try await problem { _ = try await world.orchestrator.runSchedule(world.app, cancelled) }
            #expect(settled?.code == "schedule_settled")
            try await world.start("later") { $0.startsAt = Self.later }
            let begins = try #require(try await world.show("later").schedules.first?.id)
            #expect(try await world.orchestrator.runSchedule(world.app, begins).state == .done)
            #expect(try await world.show("later").state == .live)
        }
    }

    @Test("A schedule that is refused when it is run by hand waits for its time")
    func refusedNow() async throws {
        try await withWorld(policy: { $0.endWhenSilentSeconds = 600 }) { world in
            try await world.start()
            let limit = try #require(try await world.show().schedules.first?.id)
            let waits = try await problem { _ = try await world.orchestrator.runSchedule(world.app, limit) }
            #expect(waits?.code == "schedule_waits")
            let id = try await schedule(world, score: 4) { $0.eventTime = Instant(unixSeconds: 1) }
            try await world.update(score: 1) { $0.eventTime = Instant(unixSeconds: 2) }
            let late = try await problem { _ = try await world.orchestrator.runSchedule(world.app, id) }
            #expect(late?.code == "late_event")
            #expect(try await world.orchestrator.schedule(world.app, id).state == .pending)
        }
    }

    @Test("A scheduled start is sent at its time, with what was accepted meanwhile and a stamp of then")
    func start() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            let (answer, _) = try await world.start(to: World.devices("d1")) { $0.startsAt = Self.later }
            #expect(answer.state == .scheduled)
            #expect(answer.timestamp == nil)
            #expect(try await world.update(score: 1).timestamp == nil)
            try await world.register("d2", token: "5a02")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().schedules.map(\.kind) == [.start])
            try await world.runSchedules()
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["5a01"])
            #expect(pushes.map(\.score) == [1])
            let shown = try await world.show()
            #expect(shown.state == .live)
            #expect(shown.timestamp == pushes.first?.timestamp)
            #expect(shown.schedules.isEmpty)
        }
    }

    @Test(
        "Before its time an activity takes any number of must-deliver changes; who is started has the newest alone",
        arguments: [Delivery.tokens, .channel]
    )
    func mustDeliver(delivery: Delivery) async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"), delivery: delivery) { $0.startsAt = Self.later }
            for score in Int64(1)...12 {
                try await world.update(score: score, alert: "Line-up \(score)", mustDeliver: true)
            }
            try await world.runSchedules()
            try await world.settle()
            #expect(world.recorder.take().map { "\($0.destination) \($0.score ?? 0)" } == ["5a01 12"])
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into = 13") == 11)
            // They are not open any more.
            for score in Int64(13)...20 { try await world.update(score: score, mustDeliver: true) }
        }
    }

    @Test("A card that the app has started before the time is owed each must-deliver change, of which 8 may be open")
    func mustDeliverToCard() async throws {
        try await withWorld { world in
            try await world.start { $0.startsAt = Self.later }
            try await world.follow("d1", token: "aa01", known: 1)
            for score in Int64(1)...8 { try await world.update(score: score, mustDeliver: true) }
            await #expect(throws: Problem.self) { try await world.update(score: 9, mustDeliver: true) }
            try await world.runSchedules()
            for _ in 1...10 {
                try await world.pass(5)
                try await world.settle()
            }
            #expect(world.recorder.pushes(to: "aa01").compactMap(\.score) == Array(1...8))
        }
    }

    @Test("A start whose time has passed begins at once; one that is ended before its time never begins")
    func startTimes() async throws {
        try await withWorld { world in
            let (answer, _) = try await world.start("past") { $0.startsAt = Instant(microseconds: 1) }
            #expect(answer.state == .live)
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"), delivery: .channel) { $0.startsAt = Self.later }
            try await world.end()
            try await world.runSchedules()
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(world.recorder.createdChannels == 0)
            #expect(try await world.word("SELECT state::text FROM schedules WHERE kind = 'start'") == "cancelled")
        }
    }

    @Test("A scheduled end and a scheduled update are accepted at their time; the end leaves no schedule open")
    func changes() async throws {
        try await withWorld { world in
            try await world.start { $0.endsAt = Self.later }
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            _ = try await schedule(world, score: 4)
            let last = try await schedule(world, score: 5)
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() + interval '1 hour' WHERE schedule_id = \(last)::uuid"
            )
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '1 second' WHERE kind = 'update' AND schedule_id <> \(last)::uuid"
            )
            try await world.runSchedules(all: false)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [4])
            try await world.database.execute("UPDATE schedules SET due_at = now() WHERE kind = 'end'")
            try await world.runSchedules(all: false)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            let words = try await world.database.query("SELECT state::text FROM schedules ORDER BY state").decoded(
                as: String.self
            )
            #expect(words.sorted() == ["cancelled", "done", "done"])
            #expect(try await world.show().state == .ended)
        }
    }

    @Test("A scheduled end is taken behind the largest state that fits, also if its revision has a digit more")
    func largestState() async throws {
        try await withWorld(policy: { $0.revisionProperty = "score" }) { world in
            try await world.start(alert: nil) { $0.endsAt = Self.later }
            try await world.updateToLargestState(as: 9)
            try await world.runSchedules()
            #expect(try await world.show().state == .ended)
            #expect(try await world.show().revision == 10)
            #expect(try await world.word("SELECT state::text FROM schedules") == "done")
        }
    }

    @Test("A scheduled change is judged again when due, and fails with the word of what refused it")
    func failure() async throws {
        try await withWorld { world in
            try await world.start()
            let id = try await schedule(world, score: 1) { $0.eventTime = Instant(microseconds: 1) }
            try await world.update(score: 2) { $0.eventTime = Instant(microseconds: 2) }
            try await world.runSchedules()
            let settled = try await world.orchestrator.schedule(world.app, id)
            #expect(settled.state == .failed)
            #expect(settled.reason == "late_event")
            #expect(try await world.show().revision == 2)
        }
    }

    @Test("A scheduled change that finds too many must-deliver changes open is tried again later")
    func waits() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let id = try await schedule(world, score: 20) { $0.mustDeliver = true }
            for score in 1...8 { try await world.update(score: Int64(score), mustDeliver: true) }
            try await world.runSchedules()
            #expect(try await world.orchestrator.schedule(world.app, id).state == .pending)
            // In a moment, not when the lease of a daemon that died would be over.
            #expect(
                try await world.number(
                    "SELECT count(*) FROM schedules WHERE lease_until < now() + interval '2 seconds'"
                )
                    == 1
            )
            for _ in 1...8 {
                try await world.pass(11)
                try await world.settle()
            }
            try await world.runSchedules()
            #expect(try await world.orchestrator.schedule(world.app, id).state == .done)
        }
    }

    @Test("An end passes a scheduled update that has to wait, and none that was only missed together with it")
    func endPasses() async throws {
        try await withWorld { world in
            try await world.start { $0.endsAt = Self.later }
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let waiting = try await schedule(world, score: 20) { $0.mustDeliver = true }
            for score in 1...8 { try await world.update(score: Int64(score), mustDeliver: true) }
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '2 seconds' WHERE kind = 'update'"
            )
            try await world.runSchedules(all: false)
            let held = try await world.orchestrator.schedule(world.app, waiting)
            #expect(held.state == .pending)
            #expect(held.reason == "too_many_must_deliver")
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '1 second' WHERE kind = 'end'"
            )
            try await world.runSchedules(all: false)
            #expect(try await world.show().state == .ended)
            #expect(try await world.orchestrator.schedule(world.app, waiting).reason == "activity_ended")

            try await world.start("next") { $0.endsAt = Self.later }
            var request = UpdateRequest(contentState: World.state(5))
            request.at = Self.later
            _ = try await world.orchestrator.intake.update(world.app, ActivityID(stored: "next"), request, origin: nil)
            try await world.runSchedules()
            #expect(try await world.show("next").contentState == World.state(5))
            #expect(try await world.show("next").state == .ended)
        }
    }

    @Test("An end passes what stands behind a scheduled update that has to wait")
    func endPassesWhatIsBehind() async throws {
        try await withWorld { world in
            try await world.start { $0.endsAt = Self.later }
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            _ = try await schedule(world, score: 20) { $0.mustDeliver = true }
            let behind = try await schedule(world, score: 21) { $0.mustDeliver = false }
            for score in 1...8 { try await world.update(score: Int64(score), mustDeliver: true) }
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '2 seconds' WHERE kind = 'update'"
            )
            try await world.runSchedules(all: false)
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '1 second' WHERE kind = 'end'"
            )
            try await world.runSchedules(all: false)
            #expect(try await world.show().state == .ended)
            #expect(try await world.orchestrator.schedule(world.app, behind).reason == "activity_ended")
        }
    }

    @Test("A start passes scheduled updates that wait for it")
    func startPasses() async throws {
        try await withWorld { world in
            try await world.start { $0.startsAt = Self.later }
            try await world.follow("d1", token: "aa01", known: 1)
            for score in 1...8 { try await world.update(score: Int64(score), mustDeliver: true) }
            let waiting = try await schedule(world, score: 20) { $0.mustDeliver = true }
            let behind = try await schedule(world, score: 21) { $0.mustDeliver = false }
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '2 seconds' WHERE kind = 'update'"
            )
            try await world.runSchedules(all: false)
            #expect(try await world.orchestrator.schedule(world.app, waiting).reason == "too_many_must_deliver")
            #expect(try await world.orchestrator.schedule(world.app, behind).reason == nil)
            try await world.database.execute(
                "UPDATE schedules SET due_at = now() - interval '1 second' WHERE kind = 'start'"
            )
            try await world.runSchedules(all: false)
            #expect(try await world.show().state == .live)
        }
    }

    @Test("The event of a scheduled update is measured from its time, and it may be run before its event")
    func futureEvent() async throws {
        try await withWorld { world in
            try await world.start()
            let refused = try await problem {
                _ = try await schedule(world, score: 1) {
                    $0.eventTime = Instant(unixSeconds: Self.later.unixSeconds + 301)
                }
            }
            #expect(refused?.errors.map(\.pointer.description) == ["/event_time"])
            let id = try await schedule(world, score: 1) {
                $0.eventTime = Instant(unixSeconds: Self.later.unixSeconds + 300)
            }
            // By hand it is run long before its event.
            _ = try await world.orchestrator.runSchedule(world.app, id)
            #expect(try await world.orchestrator.schedule(world.app, id).state == .done)
            #expect(try await world.show().revision == 2)
        }
    }

    @Test("What is refused now is not scheduled")
    func refusal() async throws {
        try await withWorld { world in
            try await world.start()
            let refused = try await problem {
                _ = try await schedule(world, score: 1) { $0.contentState = JSONObject() }
            }
            #expect(refused?.code == "invalid_content_state")
            try await world.end()
            #expect(try await problem { _ = try await schedule(world, score: 1) }?.code == "activity_ended")
        }
    }

    @Test("A cancelled schedule does not run; one that has run cannot be cancelled")
    func cancelling() async throws {
        try await withWorld { world in
            try await world.start()
            let cancelled = try await schedule(world, score: 1)
            try await world.orchestrator.cancelSchedule(world.app, cancelled)
            let run = try await schedule(world, score: 2)
            try await world.runSchedules()
            #expect(try await world.show().contentState == World.state(2))
            let refused = try await problem { try await world.orchestrator.cancelSchedule(world.app, run) }
            #expect(refused?.code == "schedule_settled")
            // Nor does either run for a daemon that had taken it before.
            for id in [cancelled, run] {
                let late = RequestedChange(
                    app: world.app,
                    id: ActivityID(stored: "final"),
                    body: .update(UpdateRequest(contentState: World.state(9))),
                    scheduleID: id,
                    origin: nil
                )
                let answers = await world.orchestrator.intake.accept([late])
                #expect(try await problem { _ = try answers[0].get() }?.status == 404)
            }
            #expect(try await world.show().contentState == World.state(2))
            let page = try await world.orchestrator.schedules(world.app, PageRequest())
            #expect(Set(page.items.map(\.state)) == [.cancelled, .done])
            let waiting = try await schedule(world, score: 3)
            for (state, id) in [(ScheduleState.pending, waiting), (.done, run), (.cancelled, cancelled)] {
                let page = try await world.orchestrator.schedules(world.app, state: state, PageRequest())
                #expect(page.items.map(\.id) == [id], "\(state)")
            }
        }
    }

    @Test("A start that was cancelled does not begin for a daemon that had taken it before")
    func cancelledStart() async throws {
        try await withWorld { world in
            try await world.start { $0.startsAt = Self.later }
            let id = try #require(try await world.word("SELECT schedule_id::text FROM schedules"))
            try await world.orchestrator.cancelSchedule(world.app, id)
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            try await ScheduleRunner(orchestrator: world.orchestrator).begin(activityKey: key, scheduleID: id)
            #expect(try await world.show().state == .scheduled)
        }
    }

    @Test("What a daemon has taken is left to it for a while")
    func taken() async throws {
        try await withWorld { world in
            try await world.start()
            _ = try await schedule(world, score: 1)
            try await world.database.execute(
                "UPDATE schedules SET due_at = now(), lease_until = now() + interval '1 minute'"
            )
            #expect(try await !ScheduleRunner(orchestrator: world.orchestrator).runDue())
            #expect(try await world.show().revision == 1)
        }
    }

    @Test("A daemon that is stopping leaves what is due to others")
    func stopping() async throws {
        try await withWorld(isAlive: true) { world in
            var id = ""
            try await world.withIntake {
                try await world.start()
                id = try await schedule(world, score: 1)
            }
            try await world.runSchedules()
            #expect(try await world.orchestrator.schedule(world.app, id).state == .pending)
            let other = world.sibling()
            try await other.withIntake { try await other.runSchedules() }
            #expect(try await world.orchestrator.schedule(world.app, id).state == .done)
        }
    }

    @Test("Two daemons run a schedule once, also when the first was paused past its lease")
    func once() async throws {
        try await withWorld { world in
            let other = world.sibling()
            try await world.start { $0.startsAt = Self.later }
            _ = try await schedule(world, score: 1)
            try await world.database.execute("UPDATE schedules SET due_at = now() - interval '1 second'")
            try await other.withIntake {
                async let one: Void = world.runSchedules(all: false)
                async let two: Void = other.runSchedules(all: false)
                _ = try await (one, two)
                #expect(try await world.show().revision == 2)
                // The lease of a start that was run already is taken again: nothing is stamped twice.
                try await world.exhaustStamps()
                #expect(try await world.update(score: 9).timestamp == nil)
                let key = try #require(try await world.number("SELECT activity_key FROM activities"))
                let id = try #require(
                    try await world.word("SELECT schedule_id::text FROM schedules WHERE kind = 'start'")
                )
                try await ScheduleRunner(orchestrator: other.orchestrator).begin(activityKey: key, scheduleID: id)
                #expect(try await world.show().timestamp == nil)
            }
        }
    }
}

extension World {
    /// Runs what is due; with `all` after everything has become due.
    func runSchedules(all: Bool = true) async throws {
        if all {
            try await database.execute(
                "UPDATE schedules SET due_at = now(), lease_until = NULL WHERE state = 'pending'"
            )
        }
        while try await ScheduleRunner(orchestrator: orchestrator).runDue() {}
    }
}
