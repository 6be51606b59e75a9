import Logging
import Store
import Synchronization
import TestSupport
import Testing

@Suite("Repeated work", .timeLimit(.minutes(1)))
struct RepeatedWorkTests {
    private struct Broken: Error {}

    @Test("What fails is warned of; what the end of the daemon cuts off is not")
    func failures() async throws {
        let lines = LogLines()
        let (turns, turn) = AsyncStream<Int>.makeStream()
        let counter = Counter()
        let work = Task {
            await repeating("look", every: .zero, logger: lines.logger) {
                let number = counter.next()
                turn.yield(number)
                guard number > 1 else { throw Broken() }
                // Until it is cancelled, which is what it throws.
                try await Task.sleep(for: .seconds(3600))
            }
        }
        for await number in turns where number > 1 { break }
        work.cancel()
        await work.value
        #expect(lines.all == ["warning cannot look error=Broken()", "debug cannot look error=CancellationError()"])
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }
}
