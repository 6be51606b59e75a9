import Foundation
import SystemSupport

/// One scenario with one seed.
struct Run: Sendable {
    let scenario: Scenario
    let seed: UInt64
    let isShort: Bool
    /// The folder with the programs of an earlier version.
    let earlier: URL?

    var description: String { "\(scenario.name) --seed \(seed)" }

    /// How long phones may take to be right again; how long it took is in the table.
    private static let patience = Duration.seconds(180)

    /// Sets the system up, lets things go wrong under load, and judges.
    ///
    /// - Throws: what kept it from coming to an end.
    func play() async throws -> Outcome {
        guard let megabytes = scenario.disk else { return try await play(on: nil) }
        return try await SmallDisk.with(megabytes: megabytes) { disk in try await play(on: disk) }
    }

    private func play(on disk: SmallDisk?) async throws -> Outcome {
        var options = scenario.options
        var server = options.ownServer ?? DatabasePlace.OwnServer()
        server.folder = disk?.path("postgres")
        options.ownServer = server
        options.programs = scenario.beginsEarlier ? earlier : nil
        options.environment["TALLY_APNS_RETRY_MAX_SECONDS"] = "\(Outcome.retryCap)"
        return try await TallySystem.with(options) { system in
            for _ in 1..<max(scenario.daemons, 1) { _ = try await system.startAnotherDaemon() }
            let stage = try Stage(system, on: disk, seed: seed, crowd: scenario.crowd, isShort: isShort)
            defer { stage.end() }
            try await scenario.prepare(stage)
            try await stage.load.begin()
            let end = try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await stage.load.run() }
                await stage.pause(seconds: 3, short: 2)
                try await scenario.faults(stage)
                let end = ContinuousClock.now
                stage.load.close()
                try await group.waitForAll()
                return end
            }
            return try await judge(stage, since: end)
        }
    }

    private func judge(_ stage: Stage, since end: ContinuousClock.Instant) async throws -> Outcome {
        let (system, load) = (stage.system, stage.load)
        try await system.simulator.finishReports(within: Self.patience)
        _ = try await system.settledReport(on: load.posts, within: Self.patience)
        let recovery = ContinuousClock.now - end
        // And everything works as before.
        try await system.settleStarts()
        try await load.finish()
        let posts = load.posts
        let verdict = try await system.verdict(
            after: posts,
            of: load.matches.map(\.id),
            allowing: scenario.allowances,
            within: Self.patience
        )
        return Outcome(accepted: posts.count, verdict: verdict, recovery: recovery)
    }
}

/// What a run came to.
struct Outcome: Sendable {
    /// Seconds between two tries of a push at most, in all runs: what promise 2 counts from.
    static let retryCap = 10

    let accepted: Int
    let verdict: Verdict
    /// From the end of the faults until every phone showed the newest accepted state.
    let recovery: Duration
}
