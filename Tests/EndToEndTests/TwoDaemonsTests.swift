import ActivityModel
import Glibc
import Postgres
import SystemSupport
import TestSupport
import Testing

@Suite("Two daemons on one database")
struct TwoDaemonsTests {
    private static let byToken = FollowedActivity(
        id: knownGood(ActivityID("two-daemons-by-token")),
        delivery: .tokens,
        audience: (1...24).map { "by-token-\($0)" }
    )
    private static let byChannel = FollowedActivity(
        id: knownGood(ActivityID("two-daemons-by-channel")),
        delivery: .channel,
        audience: (1...8).map { "by-channel-\($0)" }
    )

    @Test(
        "share activities, and one of them between them; one that is paused past its lease, or killed, is replaced by the other",
        arguments: [1, 2, 3]
    )
    func replaceEachOther(seed: UInt64) async throws {
        // The activity by token comes to have four rings.
        var options = TallySystem.Options()
        options.environment["TALLY_RING_SIZE"] = "6"
        try await TallySystem.with(options) { system in
            let simulator = system.simulator
            try await simulator.makePhones("by-token-", count: 24, of: TallySystem.app, follows: Self.byToken.id)
            try await simulator.makePhones("by-channel-", count: 8, of: TallySystem.app, follows: Self.byChannel.id)
            try await simulator.finishReports()
            let second = try await system.startAnotherDaemon()
            try await system.reportPhones(to: second.url)
            // Batches are half sent when their daemon stops.
            for event in ["start", "update", "end"] {
                try await simulator.delayAnswers(to: event, milliseconds: 200, probability: 0.5)
            }

            var random = SeededRandom(seed: seed)
            let recording = try Recording()
            let pauseIndex = Int.random(in: 1...20, using: &random)
            var posts: [PostedChange] = []
            var isShared = false
            for (index, post) in recording.posts.enumerated() {
                if index == pauseIndex { try system.daemon.signal(SIGSTOP) }
                // Beyond the lease, and the first daemon wakes up among changes that it does not know.
                if index == pauseIndex + 10 { await pause(.seconds(5)) }
                if index == pauseIndex + 15 { try system.daemon.signal(SIGCONT) }
                let isFirstPaused = (pauseIndex..<pauseIndex + 15).contains(index)
                let url = isFirstPaused || index.isMultiple(of: 2) ? second.url : system.url
                let client = try system.client(url: url)
                for activity in [Self.byToken, Self.byChannel] {
                    posts.append(try await activity.post(post, of: recording, by: client))
                }
                await pause(random.pause(upTo: 150))
                if try await Self.carriers(in: system) == 2 { isShared = true }
            }
            #expect(isShared, "the daemons never carried the activity together")
            await pause(random.pause(upTo: 500))
            await second.kill()
            try await system.reportPhones(to: system.url)

            try await system.expectPromises(
                after: posts,
                of: [Self.byToken, Self.byChannel],
                phones: 32,
                allowing: .oldPushes
            )
        }
    }

    /// How many daemons have served the rings of one activity last.
    private static func carriers(in system: TallySystem) async throws -> Int {
        try await EngineTables(system.database).carriers(of: byToken.id.rawValue)
    }
}
