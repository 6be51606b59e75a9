import APITypes
import ActivityModel
import JSON
import Postgres
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

    @Test("A change that is given priority 10 after all, for an alert that a phone has missed, spends its unit then")
    func rise() async throws {
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
            #expect(
                try await world.word(
                    """
                    SELECT (decided_at > clock_timestamp() - interval '500 seconds')::text FROM budget_ledger
                    WHERE revision = 3 AND priority = 10
                    """
                ) == "true"
            )
        }
    }

    @Test("A card that is ended by itself takes nothing of the budget of the others")
    func leaving() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.orchestrator.unsubscribe(world.app, ActivityID(stored: "final"), DeviceID(stored: "d1"))
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.ten])
            #expect(try await reasons(world) == [])
        }
    }
}
