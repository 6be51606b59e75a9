import BenchSupport
import EnginePrototype
import Foundation
import Postgres
import Synchronization

/// One update each of many activities with a few phones or a channel.
struct Updates: Sendable {
    private let options: Options
    private let activities: Int
    private let phones: Int
    private let callers: Int
    private let batch: Int
    private let isChannel: Bool
    private let isCold: Bool

    init(_ options: Options) throws {
        self.options = options
        activities = try options.number("activities")
        phones = try options.number("phones")
        callers = try options.number("callers")
        batch = try options.number("batch")
        isChannel = try options.text("audience") == "channel"
        isCold = try options.text("memory") == "cold"
    }

    func run() async throws -> [String: Double] {
        let before = max(activities / 5, callers * batch)
        let preparation = try Stage(options)
        try await preparation.prepare(activities: before + activities, phones: phones, isChannel: isChannel)
        await preparation.database.shutDown()
        let stage = try Stage(options)
        return try await stage.whileServing(owning: 64) { try await measure(stage, before: before) }
    }

    private func measure(_ stage: Stage, before: Int) async throws -> [String: Double] {
        if !isCold {
            for first in stride(from: 1, through: before + activities, by: 1_000) {
                try await stage.engine.warm((first..<first + 1_000).map(Stage.activity))
            }
        }
        let pushes = isChannel ? 1 : phones
        try await post(1...before, stage.engine)
        _ = await stage.sender.wait(before * pushes)
        try await Task.sleep(for: .milliseconds(1500))
        stage.sender.reset()
        let statements = stage.store.statementCount
        let cpu = Self.cpuSeconds
        let began = ContinuousClock.now
        try await post(before + 1...before + activities, stage.engine)
        let allAccepted = ContinuousClock.now
        let ended = await stage.sender.wait(activities * pushes)
        let refused = stage.sender.refused
        while try await Self.unrecorded(stage) > 0 { try await Task.sleep(for: .milliseconds(5)) }
        let recorded = ContinuousClock.now
        let spent = Self.cpuSeconds - cpu
        try await Task.sleep(for: .milliseconds(1200))
        return [
            "updates": Double(activities),
            "before": Double(before * pushes),
            "pushes": Double(activities * pushes),
            "callers": Double(callers),
            // Of this process, callers included.
            "cpu_us_per_update": spent / Double(activities) * 1e6,
            "seconds": began.duration(to: ended) / .seconds(1),
            "seconds_to_accept_all": began.duration(to: allAccepted) / .seconds(1),
            "seconds_to_record_all": began.duration(to: recorded) / .seconds(1),
            "accepted": Double(activities * pushes - refused),
            "statements": Double(stage.store.statementCount - statements),
        ]
    }

    private func post(_ numbers: ClosedRange<Int>, _ engine: Engine) async throws {
        let source = Source(numbers)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    while let part = source.next(batch) {
                        let changes = part.map {
                            PostedChange(activity: Stage.activity($0), content: Stage.content($0))
                        }
                        for answer in await engine.accept(changes) {
                            guard case .accepted = answer else { throw Mistake("a change was not accepted: \(answer)") }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }

    /// How many activities lack the record of their newest change.
    private static func unrecorded(_ stage: Stage) async throws -> Int {
        try await stage.database.query(
            """
            SELECT count(*) FROM changes AS c JOIN activities AS a USING (activity_key)
            WHERE c.revision > a.sent_revision
            """
        ).first(as: Int.self) ?? 0
    }

    /// Numbers that several callers take in turn.
    private final class Source: Sendable {
        private let first: Atomic<Int>
        private let last: Int

        init(_ numbers: ClosedRange<Int>) {
            first = Atomic(numbers.lowerBound)
            last = numbers.upperBound
        }

        func next(_ count: Int) -> ClosedRange<Int>? {
            let start = first.add(count, ordering: .relaxed).oldValue
            return start <= last ? start...min(start + count - 1, last) : nil
        }
    }
}
