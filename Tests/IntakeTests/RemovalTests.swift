import APITypes
import ActivityModel
import Intake
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator

@Suite("Removals from an audience beside other work", .timeLimit(.minutes(2)))
struct RemovalTests {
    /// Two devices whose starts wait for their time.
    private func waiting(in world: World) async throws {
        for number in 1...2 {
            try await world.register("d\(number)", token: "5a0\(number)", user: "u\(number)")
            world.recorder.answer("5a0\(number)", with: .tooMany)
        }
        var audience = World.devices("d1")
        audience.users = [UserID(stored: "u2")]
        try await world.start(to: audience)
        try await world.settle()
    }

    @Test("The removal of one device does not wait for a start of another")
    func removalBesideAnother() async throws {
        try await withWorld { world in
            try await waiting(in: world)
            // Not wanted any more either, as nobody has noticed yet.
            try await world.database.execute("UPDATE devices SET user_id = NULL WHERE device_id = 'd2'")
            try await world.database.withTransaction { connection in
                _ = try await connection.query(EngineTables.startLock(device: "d2"))
                let removed = AudienceRequest(remove: World.devices("d1"))
                _ = try await world.orchestrator.intake.changeAudience(world.app, ActivityID(stored: "final"), removed)
            }
            try await world.settle()
            #expect(try await world.startState("d1") == "cancelled")
            #expect(try await world.startState("d2") == "pending")
        }
    }

    @Test("A removal that stands in the way of a report, and the report in its, is carried out after it")
    func removalBesideReport() async throws {
        try await withWorld { world in
            try await waiting(in: world)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    // The removal notices the deadlock.
                    _ = try await connection.query("SELECT set_config('deadlock_timeout', '1 min', true)")
                    _ = try await connection.query(EngineTables.startLock())
                    group.addTask {
                        let removed = AudienceRequest(remove: World.devices("d1"))
                        _ = try await world.orchestrator.intake.changeAudience(
                            world.app,
                            ActivityID(stored: "final"),
                            removed
                        )
                    }
                    try await world.someoneWaits()
                    _ = try await connection.query("SELECT FROM activities FOR NO KEY UPDATE")
                }
                try await group.waitForAll()
            }
            try await world.settle()
            #expect(try await world.startState("d1") == "cancelled")
        }
    }
}
