import Foundation
import OrchestratorTestSupport
import Testing
import ActivityModel

@Suite("What explain says of silent failures", .timeLimit(.minutes(5)))
struct ExplainLivesTests {
    /// How many lives there are. docs/internals/testing.md has the table of 5,000.
    private static let count = ProcessInfo.processInfo.environment["TALLY_EXPLAIN_LIVES"].flatMap { Int($0) } ?? 220

    @Test("The true cause is named in at least 95 of 100 lives, and wherever the server can know it")
    func trueCause() async throws {
        try await withWorld(policy: { policy in
            (policy.startBudget.count, policy.startBudget.windowSeconds) = (2, 3_600)
        }) { world in
            let lives = ExplainLives(in: world, count: Self.count, seed: 1)
            try await lives.run()
            let matrix = ExplainMatrix(answers: try await lives.answers())
            if Self.count >= 1_000 { print("\(matrix.table)\n\nnamed: \(matrix.share)") }
            let wrong = matrix.answers.filter { $0.failure.code != nil && !$0.isRight }
            #expect(wrong.isEmpty, "\(wrong.prefix(5))")
            #expect(matrix.share >= 0.95)
            // The only failure that leaves no trace is told as what the server knows: the push was accepted.
            #expect(matrix.codes(of: .staleToken).keys.allSatisfy { $0.hasPrefix("sent") })
        }
    }
}
