import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

@Suite("Starts that are left after the end", .timeLimit(.minutes(2)))
struct StartAbandonmentTests {
    @Test("The end reaches the cards though somebody holds a start that is left")
    func endBesideStarts() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            try await world.follow("rider", token: "aa01", known: 1)
            try await world.register("d1", token: "5a01")
            try await world.settle()
            try await world.database.execute(
                "UPDATE starts SET state = 'pending', due_at = clock_timestamp() + interval '1 hour'"
            )
            let held = Gate()
            async let holder: Void = world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM starts FOR UPDATE")
                await held.pass()
            }
            await held.arrivals()
            try await world.end()
            async let settled: Void = world.settle()
            try await world.someoneWaits()
            #expect(world.recorder.pushes(to: "aa01").map(\.event) == ["end"])
            held.open()
            _ = try await (holder, settled)
            #expect(try await world.startState("d1") == "cancelled")
        }
    }

    @Test("A claim that is left is not given up, for its start may have left: what became of it is not known")
    func claim() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            // As if its daemon had died.
            try await world.database.execute(
                "UPDATE starts SET state = 'claimed', due_at = clock_timestamp() + interval '1 hour'"
            )
            try await world.end()
            try await world.settle()
            #expect(try await world.startState("d1") == "unknown")
            #expect(try await world.number("SELECT count(*) FROM starts WHERE due_at IS NOT NULL") == 0)
        }
    }

    @Test(
        "Starts that are left after the end are given up, however many, also when it is long past",
        arguments: [5, 86_400]
    )
    func abandonment(age: Int64) async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.crowd(4_500)
            try await world.database.execute(
                """
                INSERT INTO starts (activity_key, device_key, state, due_at, reason)
                SELECT activity_key, device_key, 'withheld', now() + interval '2 days', 'start_budget' FROM subscriptions
                """
            )
            _ = try await world.database.execute(
                "UPDATE subscriptions SET state = 'due', due_at = now() + interval '2 days'"
            )
            try await world.end()
            try await world.pass(age)
            try await world.settle()
            #expect(try await world.number("SELECT count(*) FROM starts WHERE due_at IS NOT NULL") == 0)
            let over = try await world.number("SELECT count(*) FROM subscriptions WHERE state = 'over'")
            #expect(over == (age == 5 ? 0 : 4_500))
        }
    }
}
