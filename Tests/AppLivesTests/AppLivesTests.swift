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
            if let fault = life.fault { Issue.record("seed \(life.seed): \(fault)") }
        }
        // Of many lives some continue cards. Else they would prove nothing of that.
        #expect(tally.continued > 0 || plan.kind != .tallyKit || plan.seeds.count < 40)
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

    @Test("are the same life for the same seed against Tally, whichever was played before")
    func repeatsAgainstTally() async throws {
        let lives: [(seed: UInt64, hours: Int?)] = [(9, 1), (6, nil), (9, 1)]
        let stories = try await TallyLane.lend { lane in
            var stories: [[String]] = []
            for (seed, hours) in lives {
                try await lane.withTally(for: seed, continueAfterHours: hours) { tally in
                    let life = Life(
                        seed: seed,
                        kind: .tallyKit,
                        server: tally,
                        beginning: LifePlan.beginning,
                        continueAfterHours: hours
                    )
                    try await life.live(steps: 60)
                    #expect(life.broken.isEmpty)
                    stories.append(life.story)
                }
            }
            return stories
        }
        #expect(stories.first == stories.last)
        #expect(stories.first?.contains { $0.contains("a push starts") } == true)
    }
}
