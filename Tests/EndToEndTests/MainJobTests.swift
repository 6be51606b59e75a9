import ActivityModel
import Foundation
import JSON
import SystemSupport
import TestSupport
import Testing

@Suite("The World Cup final, posted by the CLI")
struct MainJobTests {
    private static let byToken = knownGood(ActivityID("world-cup-final-2022-tokens"))
    private static let byChannel = knownGood(ActivityID("world-cup-final-2022-channel"))

    @Test("reaches every phone once, and a phone that nobody told Tally of is reported as wrong")
    func reachesEveryPhone() async throws {
        try await TallySystem.with { system in
            try await gather(in: system)
            let fansByToken = try audience(["fan-by-token-": 20, "rotating-": 6, "late-by-token-": 4], in: system)
            let fansByChannel = try audience(["fan-by-channel-": 16, "late-by-channel-": 4], in: system)
            let replay = try await RunningProgram.start(
                "tally",
                [
                    "replay", Places.sample("world-cup-final-2022.json").path, "--speed", "900",
                    "--log", system.folder.path("posts.jsonl"),
                    "--audience", "\(Self.byToken)=@\(fansByToken)", "--audience",
                    "\(Self.byChannel)=@\(fansByChannel)",
                ],
                environment: ["TALLY_URL": system.url, "TALLY_API_KEY": TallySystem.adminKey],
                in: system.folder
            )
            try await playEvents(in: system)
            #expect(await replay.end(within: .seconds(120)) == .exited(0), "\(replay.errors)")

            let report = try await report("--wait", "60", in: system)
            #expect(report.ending == .exited(0), "\(report.output)")
            #expect(report.output.contains("60 of 60"))
            let figures = MatchReport(json: try JSONValue(parsing: try await self.report("--json", in: system).output))
            #expect(figures.phones == 60)
            #expect(figures.right == 60)
            #expect(figures.secondCards == 0)
            #expect(figures.json["latency_ms"]?["measured"]?.int64 ?? 0 > 0)
            #expect(figures.json["latency_ms"]?["p50"]?.int64 ?? -1 >= 0)
            #expect(figures.json["latency_ms"]?["p99"]?.int64 ?? -1 >= 0)

            // A phone that follows a match which Tally was never told of cannot be right.
            try await system.simulator.makePhones("stranger-", of: TallySystem.app, follows: Self.byToken)
            try await system.simulator.finishReports()
            let second = try await self.report(in: system)
            #expect(second.ending == .exited(1))
            #expect(second.output.contains("60 of 61"))
            #expect(second.output.contains("stranger-1"))
        }
    }

    private func gather(in system: TallySystem) async throws {
        for (prefix, count, activity, startTokens) in [
            ("fan-by-token-", 20, Self.byToken, true), ("fan-by-channel-", 16, Self.byChannel, true),
            ("rotating-", 6, Self.byToken, true), ("joining-by-token-", 5, Self.byToken, false),
            ("joining-by-channel-", 5, Self.byChannel, false),
        ] {
            let (ending, output, errors) = try await RunningProgram.run(
                "apns-sim",
                [
                    "phones", "create", "--prefix", prefix, "--count", "\(count)", "--follows", activity.rawValue,
                    "--environment", "production", "--bundle-id", TallySystem.app.rawValue, "--wait", "60",
                    startTokens ? "--start-tokens" : "--no-start-tokens",
                ],
                environment: ["APNS_SIM_CONTROL_URL": system.simulator.controlURL],
                in: system.folder
            )
            #expect(ending == .exited(0), "\(output) \(errors)")
        }
    }

    /// Writes an audience as the CLI reads it; prefixes with how many phones.
    private func audience(_ phones: [String: Int], in system: TallySystem) throws -> String {
        let names = phones.flatMap { prefix, count in (1...count).map { JSONValue.string("\(prefix)\($0)") } }
        let path = system.folder.path("audience-\(UUID().uuidString).json")
        let json: JSONValue = ["devices": .array(names)]
        try json.text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    /// What happens at phones during the match, each thing when its moment has been posted.
    private func playEvents(in system: TallySystem) async throws {
        let simulator = system.simulator
        try await untilPosted(#""minute":5,"#, in: system)
        try await simulator.makePhones("late-by-token-", count: 4, of: TallySystem.app, follows: Self.byToken)
        try await untilPosted(#""minute":15,"#, in: system)
        try await simulator.act("rotate", at: "rotating-", activity: Self.byToken)
        try await untilPosted(#""minute":20,"#, in: system)
        try await simulator.makePhones("late-by-channel-", count: 4, of: TallySystem.app, follows: Self.byChannel)
        try await untilPosted(#""minute":23,"#, in: system)
        try await simulator.act("join", at: "joining-by-token-", activity: Self.byToken)
        try await untilPosted(#""minute":30,"#, in: system)
        let channel = try await system.channel(of: Self.byChannel)
        try await simulator.act("join", at: "joining-by-channel-", activity: Self.byChannel, channel: channel)
        try await untilPosted(#""minute":36,"#, in: system)
        try await simulator.act("rotate", at: "rotating-", activity: Self.byToken)
    }

    private func untilPosted(_ text: String, in system: TallySystem) async throws {
        try await eventually("\(text) posted") {
            // Not there before the first post.
            (try? system.folder.text("posts.jsonl"))?.contains(text) == true
        }
    }

    private func report(
        _ options: String...,
        in system: TallySystem
    ) async throws -> (ending: RunningProgram.Ending, output: String) {
        let (ending, output, _) = try await RunningProgram.run(
            "apns-sim",
            ["report", "--posts", system.folder.path("posts.jsonl")] + options,
            environment: ["APNS_SIM_CONTROL_URL": system.simulator.controlURL],
            in: system.folder
        )
        return (ending, output)
    }
}
