import Foundation
import TestSupport
import Testing

/// Lives of an app, each by chance. `tools/app-lives` plays more.
@Suite("Lives of an app", .serialized)
struct AppLivesTests {
    @Test("keep the promises of TallyKit, whatever happens in whatever order")
    func keepsPromises() async throws {
        let plan = try LifePlan(ProcessInfo.processInfo.environment)
        let tally = try await plan.play()
        print(tally.text)
        for life in tally.firsts where plan.kind == .tallyKit {
            for promise in life.broken.prefix(1) { Issue.record("seed \(life.seed): \(promise)") }
        }
    }

    @Test("are the same life for the same seed")
    func repeats() async throws {
        func story() async throws -> [String] {
            let life = Life(seed: 7, kind: .tallyKit, server: ModelServer(beginning: 0), beginning: 0)
            try await life.live(steps: 100)
            return life.story
        }
        let first = try await story()
        #expect(try await story() == first)
        #expect(first.count > 20)
    }
}
