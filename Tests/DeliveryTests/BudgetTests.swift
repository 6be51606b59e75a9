import APITypes
import ActivityModel
import DeliveryStore
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Store
import Testing

@testable import Orchestrator

@Suite("The budget of priority 10", .timeLimit(.minutes(2)))
struct BudgetTests {
    /// Sends one change of each kind and returns what it left with.
    private func send(
        _ world: World,
        score: Int64,
        _ change: (inout UpdateRequest) -> Void
    ) async throws -> Recorder.Push {
        _ = world.recorder.take()
        try await world.update(score: score, change)
        try await world.pass(5)
        try await world.settle()
        return try #require(world.recorder.take().first)
    }

    private func reasons(_ world: World) async throws -> [String] {
        try await world.database.query("SELECT reason FROM budget_ledger ORDER BY class, revision").decoded(
            as: String.self
        )
    }

    @Test("Notable changes leave the reserve, alerts and critical ones its last unit, and the end takes that")
    func spending() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 4
            $0.budget.reserve = 2
        }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let notable: (inout UpdateRequest) -> Void = { $0.urgency = .notable }
            #expect(try await send(world, score: 1) { $0.urgency = nil }.priority == .five)
            #expect(try await send(world, score: 2, notable).priority == .ten)
            #expect(try await send(world, score: 3, notable).priority == .ten)
            #expect(try await send(world, score: 4, notable).priority == .five)
            #expect(try await send(world, score: 5) { $0.alert = World.alert("Messi") }.priority == .ten)
            #expect(try await send(world, score: 6) { $0.urgency = .critical }.priority == .five)
            #expect(try await send(world, score: 7) { $0.alert = World.alert("Di Maria") }.priority == .five)
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.ten])
            #expect(
                try await reasons(world) == [
                    "notable", "notable", "notable_over_budget", "alert", "critical_over_budget",
                    "alert_over_budget", "end",
                ]
            )
        }
    }

    @Test("What was spent counts for the window only")
    func window() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 3
            $0.budget.windowSeconds = 600
        }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            #expect(try await send(world, score: 1) { $0.urgency = .critical }.priority == .ten)
            #expect(try await send(world, score: 2) { $0.urgency = .critical }.priority == .ten)
            #expect(try await send(world, score: 3) { $0.urgency = .critical }.priority == .five)
            try await world.pass(600)
            #expect(try await send(world, score: 4) { $0.urgency = .critical }.priority == .ten)
        }
    }

    @Test("A decision reads the units of its window, and not those that were spent before")
    func oldUnits() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.database.execute(
                """
                INSERT INTO budget_ledger (activity_key, class, revision, priority, reason, decided_at)
                SELECT activity_key, 'ordinary', n, 10, 'critical', now() - interval '2 hours' + n * interval '1 second'
                FROM activities CROSS JOIN generate_series(101, 3100) AS n
                """
            )
            try await world.update(score: 1) { $0.urgency = .critical }
            let store = world.orchestrator.deliveryStore
            let lease = try #require(try await store.segments.claim(limit: 1).first)
            let activity = try #require(try await world.snapshot(of: lease.activityKey))
            let change = try #require(try await store.changes.stamped(activity.newest, under: lease))
            let before = try await world.rowsRead("budget_ledger")
            let push = PriorityCase(frequent: false, alert: nil)
            #expect(try await store.ledger.priority(of: change, push, in: activity) == .ten)
            #expect(try await store.ledger.priority(of: change, push, in: activity) == .ten)
            #expect(try await world.rowsRead("budget_ledger") - before < 100)
        }
    }

    @Test("Devices that allow frequent pushes have a budget of their own, and a retry spends nothing")
    func classes() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 2
            $0.budget.frequent = 60
        }) { world in
            try await world.start()
            try await world.register("d1")
            try await world.register("d2", frequent: true)
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            for score in 1...2 {
                world.recorder.answer("aa02", with: .tooMany)
                try await world.update(score: Int64(score)) { $0.urgency = .critical }
                try await world.pass(5)
                try await world.settle()
                try await world.pass(5)
                try await world.settle()
            }
            #expect(world.recorder.pushes(to: "aa01").map(\.priority) == [.ten, .five])
            #expect(world.recorder.pushes(to: "aa02").map(\.priority) == [.ten, .ten, .ten, .ten])
            #expect(try await world.number("SELECT count(*) FROM budget_ledger WHERE class = 'frequent'") == 2)
        }
    }

    @Test("An alert that the budget demotes is told of once, however many phones come late for it")
    func demotedOnce() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 2
            $0.budget.reserve = 0
        }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            #expect(try await send(world, score: 1) { $0.urgency = .critical }.priority == .ten)
            #expect(try await send(world, score: 2) { $0.alert = World.alert("Messi") }.priority == .five)
            for number in 2...4 {
                try await world.follow("d\(number)", token: "aa0\(number)", known: 2)
                try await world.settle()
                let push = try #require(world.recorder.take().first)
                #expect(push.alert == "Messi")
                #expect(push.priority == .five)
            }
            #expect(try await world.events(.demoted).compactMap { $0.detail["revision"]?.int64 } == [3])
            #expect(try await reasons(world) == ["critical", "alert_over_budget"])
        }
    }

    @Test("A phone that has missed an alert gets it with the unit that was spent on it, whatever rides with it")
    func missedAlert() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 4
            $0.budget.reserve = 4
        }) { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa01", with: .tooMany)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            try await world.update(score: 2) { $0.urgency = .notable }
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa02").map(\.priority) == [.ten, .five])
            try await world.pass(1000)
            try await world.settle()
            let push = try #require(world.recorder.pushes(to: "aa01").last)
            #expect(push.alert == "Messi")
            #expect(push.score == 2)
            #expect(push.priority == .ten)
            #expect(try await reasons(world) == ["alert", "notable_over_budget"])
            #expect(try await world.explain("d1").verdict.text.contains("priority 10: it brought the alert of"))
            #expect(try await world.explain("d2").verdict.text.contains("priority 5: it is notable"))
        }
    }

    @Test("Who is sent an alert's change without the alert takes nothing from the priority of the alert")
    func changeBeforeItsAlert() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 4
            $0.budget.reserve = 4
        }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1, alert: "Messi") { $0.urgency = .notable }
            // Who joins late is served first, and told of nothing.
            try await world.follow("d2", token: "aa02")
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["aa02", "aa01"])
            #expect(pushes.map(\.alert) == [nil, "Messi"])
            #expect(pushes.map(\.priority) == [.five, .ten])
            #expect(try await reasons(world) == ["alert"])
        }
    }

    @Test("An alert that has to be tried again costs the others nothing, however many routine changes come meanwhile")
    func retriedAlert() async throws {
        try await withWorld(policy: { $0.budget.ordinary = 4 }) { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa02", with: .tooMany, .tooMany, .tooMany, .tooMany)
            try await world.update(score: 1, alert: "Goal")
            try await world.settle()
            for score in Int64(2)...5 {
                try await world.pass(5)
                try await world.update(score: score)
                try await world.hurry()
                try await world.settle()
            }
            #expect(world.recorder.pushes(to: "aa01").map(\.priority) == [.ten, .five, .five, .five, .five])
            let retries = world.recorder.pushes(to: "aa02").filter { $0.alert == "Goal" }
            #expect(retries.count == 5)
            #expect(retries.allSatisfy { $0.priority == .ten })
            #expect(try await reasons(world) == ["alert"])
            #expect(try await send(world, score: 6) { $0.alert = World.alert("Again") }.priority == .ten)
        }
    }

    @Test("Who comes when a unit has left the window is sent the change without one, but an alert has one of its own")
    func lateForTheUnit() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 4
            $0.budget.windowSeconds = 600
        }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            #expect(try await send(world, score: 1) { $0.urgency = .critical }.priority == .ten)
            try await world.pass(300)
            try await world.follow("d2", token: "aa02")
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.ten])
            try await world.pass(300)
            try await world.follow("d3", token: "aa03")
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.five])
            #expect(try await world.explain("d3").verdict.text.contains("priority 5: it was sent to this phone later"))
            #expect(try await send(world, score: 2) { $0.alert = World.alert("Goal") }.priority == .ten)
            try await world.pass(600)
            try await world.follow("d4", token: "aa04", known: 2)
            try await world.settle()
            #expect(world.recorder.take().map { "\($0.priority) \($0.alert ?? "")" } == ["ten Goal"])
            let recent: Query = """
                SELECT count(*) FROM budget_ledger WHERE priority = 10 AND decided_at > clock_timestamp() - interval '500 seconds'
                """
            #expect(try await world.number(recent) == 1)
        }
    }

    @Test("A card that is ended by itself takes nothing of the budget of the others")
    func leaving() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "d1")
            )
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.ten])
            #expect(try await reasons(world) == [])
        }
    }
}
