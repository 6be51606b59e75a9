import ActivityModel
import Postgres
import Testing

@testable import Orchestrator

@Suite("Frequent statements", .timeLimit(.minutes(2)))
struct FrequentStatementTests {
    @Test("What an update runs, and what brings it to a phone, has been planned when the connection was made")
    func planned() async throws {
        var configuration = Database.Configuration()
        configuration.maximumConnections = 1
        configuration.plannedAhead = Orchestrator.frequentStatements
        try await withWorld(database: configuration) { world in
            try await world.start()
            try await world.follow("phone", token: "aa", known: 1)
            try await world.settle()
            let key = IdempotencyKey(apiKeyID: "k", method: "POST", path: "/updates", key: "1", bodyHash: [1])
            try await world.update(score: 1, key: key)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            let statements = Orchestrator.frequentStatements.map(\.sql)
            let planned = try await world.database.query(
                """
                SELECT statement, generic_plans FROM pg_prepared_statements WHERE statement = ANY(\(statements))
                """
            ).decoded(as: (String, Int64).self)
            // Each text once: the same with other types of parameters would have been prepared anew.
            #expect(planned.map(\.0).sorted() == statements.sorted())
            #expect(planned.filter { $0.1 < 2 }.map(\.0) == [], "run once only, when the connection was made")
        }
    }
}
