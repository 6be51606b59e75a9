import BenchSupport
import EnginePrototype
import Postgres

/// One change to many phones of one activity.
struct FanOut: Sendable {
    private let options: Options
    private let phones: Int
    private let rounds: Int

    init(_ options: Options) throws {
        self.options = options
        phones = try options.number("destinations")
        rounds = try options.number("rounds")
    }

    func run() async throws -> [String: Double] {
        let preparation = try Stage(options)
        try await preparation.prepare(activities: 1, phones: phones)
        await preparation.database.shutDown()
        let stage = try Stage(options)
        return try await stage.whileServing(owning: 64) {
            var best = Double.infinity
            var refused = 0
            let statements = stage.store.statementCount
            for round in 1...rounds {
                stage.sender.reset()
                let began = ContinuousClock.now
                let change = PostedChange(activity: Stage.activity(1), content: Stage.content(round))
                guard case .accepted = await stage.engine.accept([change])[0] else { throw Mistake("not accepted") }
                let ended = await stage.sender.wait(phones)
                refused += stage.sender.refused
                best = min(best, began.duration(to: ended) / .seconds(1))
                try await Task.sleep(for: .seconds(1.1))
            }
            return [
                "seconds": best,
                "accepted": Double(phones * rounds - refused),
                "statements": Double(stage.store.statementCount - statements),
            ]
        }
    }
}
