import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator
@testable import Store

@Suite("Warnings for readiness", .timeLimit(.minutes(2)))
struct WarningsTests {
    @Test("Who asks for them is answered also while no connection of the pool is to be had")
    func busyPool() async throws {
        try await withWorld(connections: 1) { world in
            try await world.database.withConnection { _ in
                let warnings = try await world.orchestrator.warnings()
                #expect(warnings.isEmpty)
            }
        }
    }

    @Test("While somebody locks what they are read from, it is told within seconds that Postgres is slow, not away")
    func limit() async throws {
        try await withWorld { world in
            let began = ContinuousClock.now
            let error = try await world.database.withTransaction { connection in
                _ = try await connection.execute("LOCK TABLE sending_halts IN ACCESS EXCLUSIVE MODE")
                return await #expect(throws: PostgresError.self) { _ = try await world.orchestrator.warnings() }
            }
            let words = try Store.obstacle(#require(error))
            #expect(words.hasPrefix("The database did not answer in time."))
            // A statement of these tests may take a minute.
            #expect(began.duration(to: .now) < .seconds(45))
        }
    }

    @Test("A daemon that reaches a read-only database is not ready, and says why")
    func readOnly() async throws {
        try await withWorld { world in
            let readOnly: Query = "SELECT set_config('default_transaction_read_only', 'on', false)"
            _ = try await world.database.look(readOnly, within: .seconds(30))
            let error = await #expect(throws: PostgresError.self) { _ = try await world.orchestrator.warnings() }
            let words = try Store.obstacle(#require(error))
            #expect(words.hasPrefix("The database is read-only."))
        }
    }
}
