import ActivityModel
import LocalPostgres
import SystemSupport
import TestSupport
import Testing

@Suite("A database server that goes away in the middle of a match")
struct DatabaseRestartTests {
    /// How the server ends.
    enum Ending: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case inOrder
        case crash

        var testDescription: String { rawValue }
    }

    private static let byToken = FollowedActivity(
        id: knownGood(ActivityID("restart-by-token")),
        delivery: .tokens,
        audience: (1...16).map { "by-token-\($0)" }
    )
    private static let byChannel = FollowedActivity(
        id: knownGood(ActivityID("restart-by-channel")),
        delivery: .channel,
        audience: (1...6).map { "by-channel-\($0)" }
    )

    @Test("and comes back costs nothing that was accepted, and every phone converges", arguments: Ending.allCases)
    func comesBack(after ending: Ending) async throws {
        var options = TallySystem.Options()
        options.ownServer = DatabasePlace.OwnServer()
        try await TallySystem.with(options) { system in
            let simulator = system.simulator
            try await simulator.makePhones("by-token-", count: 16, of: TallySystem.app, follows: Self.byToken.id)
            try await simulator.makePhones("by-channel-", count: 6, of: TallySystem.app, follows: Self.byChannel.id)
            try await simulator.finishReports()
            // Answers are under way when there is nowhere to store them.
            for event in ["start", "update", "end"] {
                try await simulator.delayAnswers(to: event, milliseconds: 200, probability: 0.5)
            }
            var random = SeededRandom(seed: 12)
            let recording = try Recording()
            let client = try system.client()
            var restart: Task<Void, any Error>?
            var posts: [PostedChange] = []
            let last = recording.posts.count - 1
            for (index, post) in recording.posts.enumerated() {
                // Beside the first start, in the middle, and beside the end.
                if [0, recording.posts.count / 2, last].contains(index) {
                    try await restart?.value
                    // Nobody has a card of a match that ends before its start could leave.
                    if index == last { try await Self.finishStarts(in: simulator) }
                    restart = Task { [delay = random.pause(upTo: 300), down = random.pause(upTo: 800)] in
                        await pause(delay)
                        try await Self.restart(system, ending, down: down)
                    }
                }
                for activity in [Self.byToken, Self.byChannel] {
                    posts.append(try await activity.post(post, of: recording, by: client))
                }
                await pause(random.pause(upTo: 100))
            }
            try await restart?.value
            try await system.expectPromises(after: posts, of: [Self.byToken, Self.byChannel], phones: 22)
        }
    }

    private static func finishStarts(in simulator: Simulator) async throws {
        try await eventually("every phone has its card", within: .seconds(60)) {
            let phones = try await simulator.phones()
            return [byToken, byChannel].allSatisfy { activity in
                phones.count { !$0.cards(of: activity.id.rawValue).isEmpty } == activity.audience.count
            }
        }
    }

    private static func restart(_ system: TallySystem, _ ending: Ending, down: Duration) async throws {
        let server = try #require(system.server)
        switch ending {
        case .inOrder: try await server.stop()
        case .crash: server.stopAtExit()
        }
        await pause(down)
        try await server.start()
    }
}
