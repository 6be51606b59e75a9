import BenchSupport
import EnginePrototype
import Foundation
import Postgres
import Synchronization

/// Two daemons, one of which is killed: how long the changes of its partitions wait, and whether each arrives.
struct Takeover: Sendable {
    private let options: Options
    private let rate: Int
    private let seconds: Int

    init(_ options: Options) throws {
        self.options = options
        rate = try options.number("rate")
        seconds = try options.number("seconds")
    }

    /// The other daemon. It accepts changes of its own until it is killed or asked to end.
    static func serve(_ options: Options) async throws -> [String: Double] {
        let stage = try Stage(options)
        let ends = DispatchSource.makeSignalSource(signal: SIGTERM)
        signal(SIGTERM, SIG_IGN)
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        ends.setEventHandler { continuation.finish() }
        ends.resume()
        return try await stage.whileServing(owning: 1) {
            let posting = Task {
                // The bench may have been killed.
                for number in 0... where !Task.isCancelled && getppid() != 1 {
                    _ = await stage.engine.accept([
                        PostedChange(activity: Stage.activity(number % 500 + 501), content: Stage.content(number))
                    ])
                    try await Task.sleep(for: .milliseconds(5))
                }
                continuation.finish()
            }
            for await _ in stream {}
            posting.cancel()
            return [:]
        }
    }

    func run() async throws -> [String: Double] {
        let preparation = try Stage(options)
        try await preparation.prepare(activities: 1_000, phones: 1)
        await preparation.database.shutDown()
        let stage = try Stage(options)
        return try await stage.whileServing(owning: 64) {
            let other = Process()
            other.executableURL = URL(filePath: CommandLine.arguments[0])
            other.arguments = ["serve", "--port", try options.text("port"), "--ca", try options.text("ca")]
            other.arguments? += ["--database", try options.text("database")]
            try other.run()
            while stage.engine.ownedPartitions > 32 { try await Task.sleep(for: .milliseconds(10)) }
            try await Task.sleep(for: .seconds(2))
            return try await measure(stage, other)
        }
    }

    private func measure(_ stage: Stage, _ other: Process) async throws -> [String: Double] {
        let isHard = try options.text("signal") == "kill"
        let began = ContinuousClock.now
        let killAt = began + .seconds(3)
        let killing = Task {
            try await Task.sleep(until: killAt, clock: .continuous)
            _ = isHard ? kill(other.processIdentifier, SIGKILL) : kill(other.processIdentifier, SIGTERM)
            while stage.engine.ownedPartitions < 64 { try await Task.sleep(for: .milliseconds(2)) }
            return killAt.duration(to: .now) / .seconds(1)
        }
        // The own half of the activities is changed at an even rate, whoever owns it.
        var accepted: [Double] = []
        for number in 0..<rate * seconds {
            let due = began + .seconds(Double(number) / Double(rate))
            try await Task.sleep(until: due, clock: .continuous)
            let posted = ContinuousClock.now
            let change = PostedChange(activity: Stage.activity(number % 500 + 1), content: Stage.content(number))
            guard case .accepted = await stage.engine.accept([change])[0] else { throw Mistake("not accepted") }
            accepted.append(posted.duration(to: .now) / .milliseconds(1))
        }
        let takeover = try await killing.value
        try await Task.sleep(for: .seconds(2))
        other.waitUntilExit()
        let rows = try await stage.database.query(
            """
            SELECT count(*), count(*) FILTER (WHERE a.sent_revision < c.revision)
            FROM activities AS a CROSS JOIN LATERAL (
                SELECT max(revision) AS revision FROM changes WHERE activity_key = a.activity_key
            ) AS c
            """
        ).first(as: (Int, Int).self)
        accepted.sort()
        return [
            "seconds_until_all_owned": takeover,
            "activities": Double(rows?.0 ?? 0),
            "not_sent": Double(rows?.1 ?? -1),
            "accept_ms_p50": accepted[accepted.count / 2],
            "accept_ms_max": accepted.last ?? 0,
        ]
    }
}
