import ActivityModel
import OrchestratorTestSupport
import Store
import TestSupport

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
        var tally = LifeTally(kind: kind)
        try await withThrowingTaskGroup(of: PlayedLife.self) { group in
            var left = seeds.makeIterator()
            for seed in (0..<Self.atOnce).compactMap({ _ in left.next() }) { group.addTask { try await play(seed) } }
            while let life = try await group.next() {
                if isTelling { print(life.story.joined(separator: "\n")) }
                tally.add(life)
                if let seed = left.next() { group.addTask { try await play(seed) } }
            }
        }
        return tally
    }

    private func play(_ seed: UInt64) async throws -> PlayedLife {
        guard isReal else { return try await play(seed, with: ModelServer(beginning: Self.beginning)) }
        var played: PlayedLife?
        try await withWorld(
            policy: { $0.revisionProperty = "score" },
            settings: OrchestratorSettings(receiptSampling: Life.receiptSampling)
        ) { world in
            played = try await play(seed, with: RealTally(world, beginning: Self.beginning))
        }
        guard let played else { throw Malformed() }
        return played
    }

    private func play(_ seed: UInt64, with server: any LifeServer) async throws -> PlayedLife {
        let life = Life(seed: seed, kind: kind, server: server, beginning: Self.beginning)
        try await life.live(steps: steps)
        return PlayedLife(seed: seed, broken: life.broken, story: isTelling ? life.story : [])
    }
}

/// What came of one life.
struct PlayedLife: Sendable {
    let seed: UInt64
    let broken: [BrokenPromise]
    let story: [String]
}

/// What came of many lives.
struct LifeTally {
    private static let mostTold = 20

    let kind: LibraryKind
    private(set) var lives = 0
    private(set) var broken = 0
    private(set) var byPromise: [Promise: Int] = [:]
    /// Some of the lives that broke a promise, by seed.
    private(set) var firsts: [PlayedLife] = []

    init(kind: LibraryKind) { self.kind = kind }

    mutating func add(_ life: PlayedLife) {
        lives += 1
        guard !life.broken.isEmpty else { return }
        broken += 1
        firsts = (firsts + [life]).sorted { $0.seed < $1.seed }.prefix(Self.mostTold).map(\.self)
        for promise in Set(life.broken.map(\.promise)) { byPromise[promise, default: 0] += 1 }
    }

    var text: String {
        (["lives \(lives), of \(kind.rawValue), with a broken promise: \(broken)"]
            + Promise.allCases.map { "\(byPromise[$0] ?? 0) \($0.rawValue)" }).joined(separator: "\n")
    }
}
