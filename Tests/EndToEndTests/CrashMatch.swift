import APITypes
import ActivityModel
import JSON
import SystemSupport
import TallyClient
import TestSupport

/// The World Cup final with a daemon that is killed again and again while phones join, rotate their tokens and are
/// started.
///
/// A start is repeated once, so two crashes of the same start may leave a phone without a card, and that is as
/// promised. Here no start meets two crashes: a crash waits until the starts that the one before left in doubt are
/// through.
final class CrashMatch {
    private let system: TallySystem
    private let recording: Recording
    private var random: SeededRandom
    /// The posts beside which the daemon is killed; the first and the last are always among them.
    private let crashes: Set<Int>
    private(set) var posts: [PostedChange] = []
    private(set) var killCount = 0

    static let byToken = knownGood(ActivityID("crash-by-token"))
    static let byChannel = knownGood(ActivityID("crash-by-channel"))
    static let activities = [
        FollowedActivity(
            id: byToken,
            delivery: .tokens,
            audience: names("fan-by-token-", 20) + names("rotating-", 4) + names("late-by-token-", 4)
        ),
        FollowedActivity(
            id: byChannel,
            delivery: .channel,
            audience: names("fan-by-channel-", 12) + names("late-by-channel-", 3)
        ),
    ]
    /// All phones of the match.
    static let phoneCount: Int64 = 20 + 4 + 4 + 3 + 12 + 3 + 3

    init(_ system: TallySystem, seed: UInt64) throws {
        self.system = system
        recording = try Recording()
        var random = SeededRandom(seed: seed)
        var crashes: Set<Int> = [0, recording.posts.count - 1]
        while crashes.count < 5 { crashes.insert(Int.random(in: 1..<recording.posts.count - 1, using: &random)) }
        self.crashes = crashes
        self.random = random
    }

    private static func names(_ prefix: String, _ count: Int) -> [String] { (1...count).map { "\(prefix)\($0)" } }

    /// Plays from the first post to the last.
    func play() async throws {
        try await gather()
        let client = try system.client()
        var recovery: Task<Void, any Error>?
        for (index, post) in recording.posts.enumerated() {
            if post.kind == .end {
                // After the end nobody is started any more, so whoever is to see it is there by now.
                try await recovery?.value
                try await system.simulator.finishReports()
                try await system.settleStarts()
            }
            if crashes.contains(index) {
                try await recovery?.value
                // A push may leave up to a second after its post, so that its stamp does not run ahead of the clock.
                let longest = post.kind == .end ? 700 : 1_300
                recovery = crash(after: random.pause(upTo: longest), down: random.pause(upTo: 400))
            }
            posts += try await withThrowingTaskGroup(of: PostedChange.self) { [recording] group in
                for activity in Self.activities {
                    group.addTask { try await activity.post(post, of: recording, by: client) }
                }
                var accepted: [PostedChange] = []
                for try await change in group { accepted.append(change) }
                return accepted
            }
            try await happen(after: index)
            await pause(random.pause(upTo: 150))
        }
        try await recovery?.value
    }

    private func gather() async throws {
        let (app, simulator) = (TallySystem.app, system.simulator)
        // Many answers come late and few pushes are under way at a time, so that a crash finds batches half sent, and
        // pushes that phones have and nobody knows of.
        try await simulator.delayAnswers(to: "start", milliseconds: 600, probability: 0.7)
        try await simulator.delayAnswers(to: "update", milliseconds: 100, probability: 0.5)
        try await simulator.delayAnswers(to: "end", milliseconds: 250, probability: 1)
        try await simulator.narrowConnections(to: 1)
        try await simulator.makePhones("fan-by-token-", count: 20, of: app, follows: Self.byToken)
        try await simulator.makePhones("rotating-", count: 4, of: app, follows: Self.byToken)
        try await simulator.makePhones("fan-by-channel-", count: 12, of: app, follows: Self.byChannel)
        try await simulator.makePhones(
            "joining-by-token-",
            count: 3,
            of: app,
            follows: Self.byToken,
            startTokens: false
        )
        try await simulator.makePhones(
            "joining-by-channel-",
            count: 3,
            of: app,
            follows: Self.byChannel,
            startTokens: false
        )
        try await simulator.finishReports()
    }

    /// What happens at phones after some of the posts.
    private func happen(after index: Int) async throws {
        let simulator = system.simulator
        switch index {
        case 4: try await simulator.makePhones("late-by-token-", count: 4, of: TallySystem.app, follows: Self.byToken)
        case 8, 20: try await simulator.act("rotate", at: "rotating-", activity: Self.byToken)
        case 12:
            try await simulator.makePhones("late-by-channel-", count: 3, of: TallySystem.app, follows: Self.byChannel)
        case 16: try await simulator.act("join", at: "joining-by-token-", activity: Self.byToken)
        case 24:
            let channel = try await system.channel(of: Self.byChannel)
            try await simulator.act("join", at: "joining-by-channel-", activity: Self.byChannel, channel: channel)
        default: break
        }
    }

    /// Kills the daemon and starts it again, while posts go on.
    private func crash(after delay: Duration, down: Duration) -> Task<Void, any Error> {
        killCount += 1
        return Task { [system] in
            await pause(delay)
            await system.killDaemon()
            await pause(down)
            try await system.startDaemon()
            try await system.settleStarts()
        }
    }
}
