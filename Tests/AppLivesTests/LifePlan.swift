import Synchronization

/// Which lives are played, and with what.
struct LifePlan {
    struct Malformed: Error {}

    var seeds: ClosedRange<UInt64>
    var steps: Int
    var kind = LibraryKind.tallyKit
    /// Whether they meet the real services, and not a model of them.
    var isReal = false
    /// Whether the story of each life is printed.
    var isTelling = false

    private static let atOnce = 8
    /// Each has a database, which works on another processor.
    private static let atOnceAgainstTally = 4
    /// One life in so many continues cards.
    private static let livesPerContinuation: UInt64 = 4
    /// 2026-03-01T17:00:00Z
    static let beginning: Double = 1_772_384_400

    /// `TALLY_APP_LIVES_SEEDS` (`7` or `1-500`), `…_STEPS`, `…_LIBRARY`, `…_AGAINST`, `…_STORY`.
    init(_ environment: [String: String]) throws {
        let bounds = (environment["TALLY_APP_LIVES_SEEDS"] ?? "1-200").split(separator: "-").map { UInt64($0) }
        guard let first = bounds.first ?? nil, let last = bounds.last ?? nil, first <= last else { throw Malformed() }
        seeds = first...last
        guard let steps = Int(environment["TALLY_APP_LIVES_STEPS"] ?? "150"), steps > 0 else { throw Malformed() }
        self.steps = steps
        if environment["TALLY_APP_LIVES_LIBRARY"] == "common" { kind = .commonPractice }
        isReal = environment["TALLY_APP_LIVES_AGAINST"] == "tallyd"
        isTelling = environment["TALLY_APP_LIVES_STORY"] != nil
    }

    /// Plays all lives, some at the same time.
    func play() async throws -> LifeTally {
        let left = SeedsLeft(seeds)
        var tally = LifeTally(kind: kind)
        try await withThrowingTaskGroup(of: [PlayedLife].self) { group in
            for _ in 0..<(isReal ? Self.atOnceAgainstTally : Self.atOnce) {
                group.addTask { try await isReal ? playAgainstTally(left) : playAgainstModel(left) }
            }
            for try await lives in group {
                for life in lives { tally.add(life) }
            }
        }
        return tally
    }

    private func playAgainstModel(_ left: SeedsLeft) async -> [PlayedLife] {
        var lives: [PlayedLife] = []
        while let seed = left.take() {
            let server = ModelServer(beginning: Self.beginning, continueAfterHours: continueAfterHours(seed))
            lives.append(await play(seed, with: server))
        }
        return lives
    }

    private func playAgainstTally(_ left: SeedsLeft) async throws -> [PlayedLife] {
        guard let first = left.take() else { return [] }
        return try await TallyLane.lend { lane in
            var lives: [PlayedLife] = []
            var next: UInt64? = first
            while let seed = next {
                try await lane.withTally(for: seed, continueAfterHours: continueAfterHours(seed)) { tally in
                    lives.append(await play(seed, with: tally))
                }
                next = left.take()
            }
            return lives
        }
    }

    /// Not by chance, so that the other lives stay as they are.
    private func continueAfterHours(_ seed: UInt64) -> Int? {
        guard kind == .tallyKit, seed % Self.livesPerContinuation == 1 else { return nil }
        return 1 + Int(seed / Self.livesPerContinuation % 7)
    }

    private func play(_ seed: UInt64, with server: any LifeServer) async -> PlayedLife {
        let life = Life(
            seed: seed,
            kind: kind,
            server: server,
            beginning: Self.beginning,
            continueAfterHours: continueAfterHours(seed)
        )
        var failure: String?
        do {
            try await life.live(steps: steps)
        } catch {
            failure = "\(error)"
        }
        if isTelling { print(life.story.joined(separator: "\n")) }
        return PlayedLife(seed: seed, broken: life.broken, failure: failure, continued: life.continued)
    }
}

/// The seeds that nobody has played yet.
private final class SeedsLeft: Sendable {
    private let next: Mutex<UInt64?>
    private let last: UInt64

    init(_ seeds: ClosedRange<UInt64>) {
        next = Mutex(seeds.lowerBound)
        last = seeds.upperBound
    }

    func take() -> UInt64? {
        next.withLock { next in
            let seed = next
            next = seed.flatMap { $0 < last ? $0 + 1 : nil }
            return seed
        }
    }
}

/// What came of one life.
struct PlayedLife: Sendable {
    let seed: UInt64
    let broken: [BrokenPromise]
    /// Why it could not be played to its end; nil if it was.
    let failure: String?
    /// How many cards were continued while nothing failed.
    let continued: Int

    /// The first broken promise, or the failure; nil if it was well.
    var fault: String? { failure ?? broken.first?.description }
}

/// What came of many lives.
struct LifeTally {
    private static let mostTold = 20

    let kind: LibraryKind
    private(set) var lives = 0
    private(set) var broken = 0
    private(set) var byPromise: [Promise: Int] = [:]
    private(set) var continued = 0
    /// Some of the lives with a fault, by seed.
    private(set) var firsts: [PlayedLife] = []

    init(kind: LibraryKind) { self.kind = kind }

    mutating func add(_ life: PlayedLife) {
        lives += 1
        continued += life.continued
        guard life.fault != nil else { return }
        if !life.broken.isEmpty { broken += 1 }
        firsts = (firsts + [life]).sorted { $0.seed < $1.seed }.prefix(Self.mostTold).map(\.self)
        for promise in Set(life.broken.map(\.promise)) { byPromise[promise, default: 0] += 1 }
    }

    var text: String {
        (["lives \(lives), of \(kind.rawValue), with a broken promise: \(broken)"]
            + ["\(continued) cards were continued while nothing failed"]
            + Promise.allCases.map { "\(byPromise[$0] ?? 0) \($0.rawValue)" }).joined(separator: "\n")
    }
}
