import APITypes
import Postgres
import Testing

@testable import Orchestrator

@Suite("Whether a caller can tell that the outcome is open")
struct OpenOutcomeTests {
    @Test(
        "An answer that the database did not give leaves the outcome open; without a connection nothing was carried out",
        arguments: [
            (.commitUnknown, "outcome_unknown"), (.connectionLost, "outcome_unknown"), (.timedOut, "outcome_unknown"),
            (.cancelled, "outcome_unknown"), (.unreachable, "unavailable"), (.poolExhausted, "unavailable"),
            (.closed, "unavailable"), (.malformedURL, nil),
        ] as [(PostgresError.Code, String?)]
    )
    func codes(error: PostgresError.Code, code: String?) async throws {
        try await withRegistry { orchestrator, _ in
            let problem = orchestrator.problem(for: PostgresError(error))
            #expect(problem?.code == code)
            #expect(problem == nil || problem?.status == 503)
        }
    }
}
