import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator

@Suite("Warnings for readiness", .timeLimit(.minutes(2)))
struct WarningsTests {
    @Test("Who asks for them is answered within seconds, also while no connection is to be had")
    func limit() async throws {
        try await withWorld(connections: 1) { world in
            let began = ContinuousClock.now
            let error = try await world.database.withConnection { _ in
                await #expect(throws: PostgresError.self) { _ = try await world.orchestrator.warnings() }
            }
            #expect(error?.code == .poolExhausted)
            // The pool itself has the patience of a minute here.
            #expect(began.duration(to: .now) < .seconds(45))
        }
    }
}
