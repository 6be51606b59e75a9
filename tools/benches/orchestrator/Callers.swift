import Synchronization

/// A number of callers, each of whom waits for the answer to one call before it makes the next.
struct Callers: Sendable {
    let count: Int

    func run(_ numbers: ClosedRange<Int>, _ call: @Sendable @escaping (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let source = Source(numbers)
            for _ in 0..<count {
                group.addTask {
                    while let number = source.next() { try await call(number) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The numbers from 1 to `last`, so many in a call; the last call may have fewer.
    func run(
        to last: Int,
        by batch: Int,
        _ call: @Sendable @escaping (ClosedRange<Int>) async throws -> Void
    ) async throws {
        try await run(1...((last + batch - 1) / batch)) { turn in
            try await call((turn - 1) * batch + 1...min(turn * batch, last))
        }
    }

    private final class Source: Sendable {
        private let rest: Mutex<ClosedRange<Int>.Iterator>

        init(_ numbers: ClosedRange<Int>) {
            rest = Mutex(numbers.makeIterator())
        }

        func next() -> Int? { rest.withLock { $0.next() } }
    }
}
