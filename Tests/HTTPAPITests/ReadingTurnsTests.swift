import APITypes
import Synchronization
import Testing

@testable import HTTPAPI

@Suite("Turns of reading", .timeLimit(.minutes(1)))
struct ReadingTurnsTests {
    /// Whose turn began, and how many seconds they had waited.
    private final class Begun: Sendable {
        private let turns = Mutex<[String]>([])
        var all: [String] { turns.withLock { $0 } }
        func add(_ name: String, _ waited: Duration) {
            turns.withLock { $0.append("\(name) \(waited.components.seconds)") }
        }
    }

    @Test("So many read at a time; who waits comes in the order of coming, and knows how long it took")
    func order() async throws {
        let clock = ManualClock()
        let turns = ReadingTurns(count: 2) { clock.now }
        let begun = Begun()
        for name in ["a", "b"] { begun.add(name, try await turns.begin()) }
        try await withThrowingTaskGroup { group in
            for (place, name) in ["c", "d", "e"].enumerated() {
                group.addTask {
                    begun.add(name, try await turns.begin())
                    turns.end()
                }
                try await turns.waiting(place + 1)
                clock.advance(by: .seconds(1))
            }
            #expect(begun.all == ["a 0", "b 0"])
            turns.end()
            try await group.waitForAll()
        }
        #expect(begun.all == ["a 0", "b 0", "c 3", "d 2", "e 1"])
        #expect(try await turns.begin() == .zero, "One of two still reads.")
    }

    @Test("Once somebody has waited for five seconds, whoever comes is refused; those that wait are not")
    func patience() async throws {
        let clock = ManualClock()
        let turns = ReadingTurns(count: 1) { clock.now }
        _ = try await turns.begin()
        async let first = turns.begin()
        try await turns.waiting(1)
        clock.advance(by: .seconds(5))
        async let second = turns.begin()
        try await turns.waiting(2)
        clock.advance(by: .milliseconds(1))
        try #require(await newcomer(turns) == "429, again in 1 s")
        turns.end()
        #expect(try await first == .milliseconds(5_001))
        async let third = turns.begin()
        try await turns.waiting(2)
        turns.end()
        #expect(try await second == .milliseconds(1))
        turns.end()
        #expect(try await third == .zero)
    }

    @Test("What cannot be read ends its turn as well")
    func thrown() async throws {
        let turns = ReadingTurns(count: 1)
        await #expect(throws: Problem.self) {
            try await turns.take { () throws(Problem) -> Int in throw Problem.unsupportedMediaType() }
        }
        #expect(await newcomer(turns) == "begins")
    }

    /// What becomes of whoever comes now. Who has to wait is let in, with all others, so that the test ends.
    private func newcomer(_ turns: ReadingTurns) async -> String {
        let others = turns.waiting
        return await withTaskGroup(of: String.self) { group in
            group.addTask {
                do throws(Problem) {
                    _ = try await turns.begin()
                    return "begins"
                } catch {
                    return "\(error.status), again in \(error.retryAfter ?? 0) s"
                }
            }
            group.addTask {
                while turns.waiting <= others, !Task.isCancelled { await Task.yield() }
                return "waits"
            }
            let fate = await group.next() ?? "nothing"
            group.cancelAll()
            if fate == "waits" { turns.letAllIn() }
            return fate
        }
    }
}

extension ReadingTurns {
    /// Returns when so many wait; the test's time limit is the deadline.
    func waiting(_ count: Int) async throws {
        while waiting < count {
            if Task.isCancelled { letAllIn() }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Ends what cannot be cancelled, so that a test that has failed comes to its end.
    func letAllIn() {
        while waiting > 0 { end() }
    }
}
