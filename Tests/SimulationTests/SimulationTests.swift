import Foundation
import Postgres
import Schema
import TestSupport
import Testing

/// The promises of the design, tried on random lives of daemons, phones and Apple. `tools/simulate` runs one seed, or
/// more.
@Suite("A simulated life", .serialized)
struct SimulationTests {
    @Test("keeps the promises, whatever happens in whatever order")
    func keepsPromises() async throws {
        let plan = try Plan(ProcessInfo.processInfo.environment)
        try await Simulation.run(plan)
    }

    @Test("is the same life for the same seed")
    func repeats() async throws {
        let first = try await Simulation.story(seed: 7, steps: 120)
        let second = try await Simulation.story(seed: 7, steps: 120)
        // Pushes that one step sends side by side leave in any order.
        #expect(first.sorted() == second.sorted())
        #expect(first.count > 20)
    }

    /// The tables of a life are small, and plans are kept. One that reads a whole table would go on doing so while the table
    /// grows (`Query.byKey`).
    @Test("reads no table as a whole that grows with the users of an installation")
    func plans() async throws {
        var environment = ProcessInfo.processInfo.environment
        environment["TALLY_SIMULATION_SEEDS"] = environment["TALLY_SIMULATION_SEEDS"] ?? "1-8"
        let plan = try Plan(environment)
        let plans = try await Simulation.plans(seeds: plan.seeds, steps: plan.steps)
        #expect(plans.count > 300)
        for plan in plans {
            for scan in plan.scans where scan.isWhole && StatementPlan.growing.contains(scan.table) {
                Issue.record("reads all of \(scan.table): \(plan.statement)")
            }
        }
    }
}

/// Which seeds are run.
struct Plan: Sendable {
    var seeds: ClosedRange<UInt64>
    var steps: Int
    /// Whether the story of each run is printed.
    var isTelling = false

    struct Malformed: Error {}

    /// `TALLY_SIMULATION_SEEDS` (`7` or `1-500`), `TALLY_SIMULATION_STEPS`, `TALLY_SIMULATION_STORY`.
    init(_ environment: [String: String]) throws {
        let bounds = (environment["TALLY_SIMULATION_SEEDS"] ?? "1-40").split(separator: "-").map { UInt64($0) }
        guard let first = bounds.first ?? nil, let last = bounds.last ?? nil, first <= last else { throw Malformed() }
        seeds = first...last
        guard let steps = Int(environment["TALLY_SIMULATION_STEPS"] ?? "150"), steps > 0 else { throw Malformed() }
        self.steps = steps
        isTelling = environment["TALLY_SIMULATION_STORY"] != nil
    }
}

enum Simulation {
    static func run(_ plan: Plan) async throws {
        try await withClock { clock, database in
            var divided = 0
            var handOvers = 0
            var unfollowed = 0
            for seed in plan.seeds {
                let universe = Universe(seed: seed, clock: clock, database: database)
                do {
                    try await play(universe, steps: plan.steps)
                    divided += universe.hasDividedRings ? 1 : 0
                    handOvers += universe.handOvers
                    unfollowed += universe.unfollowed
                    if plan.isTelling { print(universe.story.joined(separator: "\n")) }
                } catch {
                    if plan.isTelling { print(universe.story.joined(separator: "\n")) }
                    Issue.record("seed \(seed), \(plan.steps) steps: \(error)")
                }
            }
            // Of many lives some have activities with several rings, cards that are handed over, and cards that end at an
            // unfollow. Else they would prove nothing of those.
            #expect(divided > 0 || plan.seeds.count < 40)
            #expect(handOvers > 0 || plan.seeds.count < 40)
            #expect(unfollowed > 0 || plan.seeds.count < 40)
        }
    }

    static func story(seed: UInt64, steps: Int) async throws -> [String] {
        try await withClock { clock, database in
            let universe = Universe(seed: seed, clock: clock, database: database)
            try await play(universe, steps: steps)
            return universe.story
        }
    }

    /// The plans of what some lives ask the database.
    static func plans(seeds: ClosedRange<UInt64>, steps: Int) async throws -> [StatementPlan] {
        try await StatementPlan.logged {
            try await withClock(explains: true) { clock, database in
                for seed in seeds {
                    try await play(Universe(seed: seed, clock: clock, database: database), steps: steps)
                }
            }
        }
    }

    private static func play(_ universe: Universe, steps: Int) async throws {
        do {
            try await universe.begin()
            try await universe.live(steps: steps)
            try await universe.calmDown()
            try await universe.continueCalmly()
            try await universe.check()
        } catch {
            await universe.finish()
            throw error
        }
        await universe.finish()
    }

    /// Lends a database with a clock, and connections to it for the daemons of all lives. A task that waits for its turn
    /// has its connection already.
    private static func withClock<R>(
        explains: Bool = false,
        _ body: (VirtualClock, Database) async throws -> R
    ) async throws -> R {
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        return try await VirtualClock.lend(migrations: migrations, connections: 200, explains: explains, body)
    }
}
