import ActivityModel
import TestSupport
import Testing

@Suite("The start budget of a phone")
struct StartSpendingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// Seconds, and how many starts left then.
        let spent: [(at: Int64, count: Int)]
        let now: Int64
        /// Seconds; nil: now.
        let wait: Int64?

        var testDescription: String { "\(spent) at \(now)" }
    }

    /// Three starts in a hundred seconds.
    static let cases = [
        Case(spent: [], now: 1000, wait: nil),
        Case(spent: [(990, 1), (995, 1)], now: 1000, wait: nil),
        Case(spent: [(990, 1), (995, 1), (999, 1)], now: 1000, wait: 1090),
        Case(spent: [(999, 1), (990, 1), (995, 1)], now: 1000, wait: 1090),
        Case(spent: [(990, 1), (995, 1), (999, 1)], now: 1089, wait: 1090),
        Case(spent: [(990, 1), (995, 1), (999, 1)], now: 1090, wait: nil),
        // A repeat counts twice.
        Case(spent: [(990, 2)], now: 1000, wait: nil),
        Case(spent: [(990, 2), (995, 1)], now: 1000, wait: 1090),
        Case(spent: [(990, 1), (995, 2)], now: 1000, wait: 1090),
        // More than the budget, because it was made smaller: enough of them must pass.
        Case(spent: [(950, 1), (960, 1), (970, 1), (980, 1), (990, 1)], now: 1000, wait: 1070),
        // A clock that stepped back.
        Case(spent: [(1500, 1), (1501, 1), (1502, 1)], now: 1000, wait: 1600),
    ]

    @Test("A start waits until so many have left the window that it fits", arguments: cases)
    func table(example: Case) {
        var budget = Policy.StartBudget()
        (budget.count, budget.windowSeconds) = (3, 100)
        let spending = StartSpending(
            example.spent.map { StartSpending.Unit(at: $0.at * 1_000_000, count: $0.count) }
        )
        #expect(
            spending.wait(under: budget, now: example.now * 1_000_000) == example.wait.map { $0 * 1_000_000 }
        )
    }

    @Test(
        "Whoever waits as told never has more starts in any window than the budget, and wastes no time",
        arguments: 1...200
    )
    func neverMore(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var budget = Policy.StartBudget()
        budget.count = Int.random(in: 1...5, using: &random)
        budget.windowSeconds = Int.random(in: 1...50, using: &random)
        let window = Int64(budget.windowSeconds) * 1_000_000
        var units: [StartSpending.Unit] = []
        var now: Int64 = 0
        for _ in 1...100 {
            now += Int64.random(in: 0...20_000_000, using: &random)
            if let until = StartSpending(units).wait(under: budget, now: now) {
                #expect(until > now)
                #expect(StartSpending(units).wait(under: budget, now: until - 1) != nil)
                #expect(StartSpending(units).wait(under: budget, now: until) == nil)
                now = until
            }
            units.append(StartSpending.Unit(at: now))
            #expect(units.filter { $0.at > now - window }.count <= budget.count)
        }
    }
}
