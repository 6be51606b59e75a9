import TestSupport

/// Which lives are played, and with what.
struct LifePlan {
    struct Malformed: Error {}

    var seeds: ClosedRange<UInt64>
    var steps: Int
    var kind = LibraryKind.tallyKit
    /// Whether the story of each life is printed.
    var isTelling = false

    /// 2026-03-01T17:00:00Z
    static let beginning: Double = 1_772_384_400

    /// `TALLY_APP_LIVES_SEEDS` (`7` or `1-500`), `…_STEPS`, `…_LIBRARY`, `…_STORY`.
    init(_ environment: [String: String]) throws {
        let bounds = (environment["TALLY_APP_LIVES_SEEDS"] ?? "1-200").split(separator: "-").map { UInt64($0) }
        guard let first = bounds.first ?? nil, let last = bounds.last ?? nil, first <= last else { throw Malformed() }
        seeds = first...last
        guard let steps = Int(environment["TALLY_APP_LIVES_STEPS"] ?? "150"), steps > 0 else { throw Malformed() }
        self.steps = steps
        if environment["TALLY_APP_LIVES_LIBRARY"] == "common" { kind = .commonPractice }
        isTelling = environment["TALLY_APP_LIVES_STORY"] != nil
    }

    func play() async throws -> LifeTally {
        var tally = LifeTally(kind: kind)
        for seed in seeds {
            let server = ModelServer(beginning: Self.beginning)
            let life = Life(seed: seed, kind: kind, server: server, beginning: Self.beginning)
            try await life.live(steps: steps)
            if isTelling { print(life.story.joined(separator: "\n")) }
            tally.add(life)
        }
        return tally
    }
}

/// What came of many lives.
struct LifeTally {
    struct First {
        let seed: UInt64
        let promise: BrokenPromise
    }

    let kind: LibraryKind
    private(set) var lives = 0
    private(set) var broken = 0
    private(set) var byPromise: [Promise: Int] = [:]
    /// The first broken promise of each of the first lives that broke one.
    private(set) var firsts: [First] = []

    init(kind: LibraryKind) { self.kind = kind }

    mutating func add(_ life: Life) {
        lives += 1
        guard let first = life.broken.first else { return }
        broken += 1
        if firsts.count < 20 { firsts.append(First(seed: life.seed, promise: first)) }
        for promise in Set(life.broken.map(\.promise)) { byPromise[promise, default: 0] += 1 }
    }

    var text: String {
        (["lives \(lives), of \(kind.rawValue), with a broken promise: \(broken)"]
            + Promise.allCases.map { "\(byPromise[$0] ?? 0) \($0.rawValue)" }).joined(separator: "\n")
    }
}
