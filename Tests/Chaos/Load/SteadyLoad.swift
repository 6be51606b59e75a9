import ActivityModel
import Synchronization
import SystemSupport
import TestSupport

/// Backends that post all the time, and phones that come, go on and report all the time.
///
/// Long matches are followed by token and by channel to the end of the run; beside them short ones are started, updated
/// and ended, one after the other. Phones join the long ones late, get new tokens and open their apps.
final class SteadyLoad: Sendable {
    /// How many phones follow each long match from the beginning, and how many may come later.
    private static let fans = 10
    private static let rotating = 3
    private static let longest = 400

    private let system: TallySystem
    private let doors: Doors
    private let seed: UInt64
    /// How many more phones follow the first long match.
    private let crowd: Int
    private let isOver = Atomic<Bool>(false)
    private let state = Mutex(State())
    /// The matches that go on to the end.
    let long: [Match]

    private struct State {
        var short: [Match] = []
        /// How many phones have joined each long match late.
        var lateCount: [Int] = []
    }

    init(_ system: TallySystem, seed: UInt64, crowd: Int) throws {
        self.system = system
        self.seed = seed
        self.crowd = crowd
        let doors = try Doors(system.daemons)
        self.doors = doors
        long = [Delivery.tokens, .tokens, .hybrid, .channel].enumerated().map { number, delivery in
            Match(
                "long-\(number)",
                delivery,
                audience: Self.names("fan-\(number)-", Self.fans) + Self.names("rotating-\(number)-", Self.rotating)
                    + Self.names("late-\(number)-", Self.longest) + (number == 0 ? Self.names("crowd-", crowd) : []),
                by: doors,
                seed: seed &+ UInt64(number) &* 1_000
            )
        }
    }

    /// All matches that were started, long and short.
    var matches: [Match] { long + state.withLock { $0.short } }

    /// Every accepted change.
    var posts: [PostedChange] { matches.flatMap(\.posts) }

    /// The phones that follow a long match from its start, and keep their tokens.
    static func fans(of number: Int) -> [String] { names("fan-\(number)-", fans) }

    private static func names(_ prefix: String, _ count: Int) -> [String] { (0..<count).map { "\(prefix)\($0 + 1)" } }

    /// Makes the first phones and starts the long matches.
    func begin() async throws {
        state.withLock { $0.lateCount = long.map { _ in 0 } }
        for (number, match) in long.enumerated() {
            try await makePhones("fan-\(number)-", Self.fans, match)
            try await makePhones("rotating-\(number)-", Self.rotating, match)
        }
        if crowd > 0 { try await makePhones("crowd-", crowd, long[0]) }
        try await system.simulator.finishReports()
        for match in long { try await match.start() }
        try await system.settleStarts()
    }

    /// Posts and reports until ``close()``.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, match) in long.enumerated() {
                group.addTask { [self] in
                    var random = SeededRandom(seed: seed &+ UInt64(number))
                    while goesOn {
                        try await match.update()
                        await pause(random.pause(upTo: 500))
                    }
                }
            }
            group.addTask { [self] in try await playShortMatches() }
            group.addTask { [self] in try await register() }
            try await group.waitForAll()
        }
    }

    /// Nothing new is begun from now on; what is under way is finished.
    func close() { isOver.store(true, ordering: .relaxed) }

    private var goesOn: Bool { !isOver.load(ordering: .relaxed) && !Task.isCancelled }

    /// Ends half of the long matches, after a last update of all.
    func finish() async throws {
        for (number, match) in long.enumerated() {
            try await match.update()
            if number.isMultiple(of: 2) { try await match.end() }
        }
    }

    // MARK: Short matches

    private func playShortMatches() async throws {
        var random = SeededRandom(seed: seed &+ 100)
        var number = 0
        while goesOn {
            number += 1
            let phones = "short-\(number)-"
            let match = Match(
                "short-\(number)",
                .tokens,
                audience: Self.names(phones, 4),
                by: doors,
                seed: seed &+ UInt64(number)
            )
            try await makePhones(phones, 4, match)
            try await match.start()
            state.withLock { $0.short.append(match) }
            // Whoever is not started by the end is started no more.
            try await system.settleStarts(of: match.id, count: 4, within: .seconds(300))
            for _ in 1...Int.random(in: 2...6, using: &random) {
                try await match.update()
                await pause(random.pause(upTo: 300))
            }
            try await match.end()
        }
    }

    // MARK: Registrations

    private func register() async throws {
        var random = SeededRandom(seed: seed &+ 200)
        while goesOn {
            await pause(.milliseconds(200) + random.pause(upTo: 600))
            let number = Int.random(in: 0..<long.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try await system.simulator.act("rotate", at: "rotating-\(number)-", activity: long[number].id)
            case 1: try await system.simulator.act("launch", at: "fan-\(number)-", activity: long[number].id)
            default: try await makeLatePhone(number)
            }
        }
    }

    private func makeLatePhone(_ number: Int) async throws {
        let late = state.withLock { state in
            state.lateCount[number] += 1
            return state.lateCount[number]
        }
        guard late <= Self.longest else { return }
        try await makePhones("late-\(number)-", 1, long[number], first: late)
    }

    private func makePhones(_ prefix: String, _ count: Int, _ match: Match, first: Int = 1) async throws {
        try await system.simulator.makePhones(
            prefix,
            count: count,
            first: first,
            of: TallySystem.app,
            follows: match.id
        )
    }
}
