import APITypes
import ActivityModel
import Postgres
import SystemSupport
import TallyClient
import TestSupport
import Testing

@Suite("A hybrid activity, over real sockets")
struct HybridTests {
    private static let match = knownGood(ActivityID("hybrid"))

    @Test("reaches phones of both kinds: iOS 18 by one push to the channel, older ones by their tokens")
    func bothKinds() async throws {
        try await TallySystem.with { system in
            let (simulator, client) = (system.simulator, try system.client())
            for (prefix, version) in [("new-", "18.1"), ("older-", "17.4")] {
                try await simulator.makePhones(
                    prefix,
                    count: 5,
                    of: TallySystem.app,
                    follows: Self.match,
                    osVersion: version
                )
            }
            try await simulator.finishReports()
            let activity = FollowedActivity(
                id: Self.match,
                delivery: .hybrid,
                audience: (1...7).flatMap { ["new-\($0)", "older-\($0)"] }
            )
            let recording = try Recording()
            var posts: [PostedChange] = []
            for (index, post) in (recording.posts.prefix(8) + recording.posts.suffix(1)).enumerated() {
                posts.append(try await activity.post(post, of: recording, by: client))
                // Two phones of each kind come late.
                guard index == 3 else { continue }
                for (prefix, version) in [("new-", "18.0"), ("older-", "17.2")] {
                    try await simulator.makePhones(
                        prefix,
                        count: 2,
                        first: 6,
                        of: TallySystem.app,
                        follows: Self.match,
                        osVersion: version
                    )
                }
                try await simulator.finishReports()
                try await system.settleStarts()
            }
            let report = try await simulator.report(on: posts)
            #expect(report.isRight, "\(report.wrong)")
            #expect(report.phones == 14)
            #expect(report.secondCards == 0)
            let cards = try await EngineTables(system.database).cards()
            #expect(Set(cards.map { "\($0.device.prefix(3)) \($0.mode)" }) == ["new channel", "old token"])
            try await agree(client)
        }
    }

    /// What Apple lists is what Tally knows.
    private func agree(_ client: TallyClient) async throws {
        let report = try await client.reconcileChannels(TallySystem.app, ReconcileRequest(dryRun: true))
        #expect(report.atApple == 1 && report.known == 1)
        #expect(report.findings.isEmpty)
    }
}
