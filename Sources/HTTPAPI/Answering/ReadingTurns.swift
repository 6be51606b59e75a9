import APITypes
import NIOCore
import Synchronization

/// Lets few large batches be read at a time, in the order of their coming.
///
/// A thousand that were read at once would keep each other from being answered: every step of each would wait behind
/// the reading of all. And where they are read in turn it is known how long one has waited, and so what to refuse.
final class ReadingTurns: Sendable {
    private struct State {
        /// How many more may be read now; none as long as anybody waits.
        var free: Int
        /// Whoever waits, the first to come first.
        var waiting = CircularBuffer<(came: ContinuousClock.Instant, continuation: CheckedContinuation<Bool, Never>)>()
    }

    /// When the first of those that wait has waited for so long, nobody else may: whoever posts would not wait for the
    /// answer any more.
    static let patience = Duration.seconds(5)

    private let state: Mutex<State>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - count: how many are read at a time.
    ///   - now: the clock.
    init(count: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        state = Mutex(State(free: count))
        self.now = now
    }

    /// Half of the processors read, so that what has been read goes on meanwhile.
    static func ofThisMachine() -> ReadingTurns { ReadingTurns(count: max(1, System.coreCount / 2)) }

    /// How many wait for their turn.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Reads when it is its turn.
    ///
    /// - Returns: What was read, and how long it waited before.
    /// - Throws: What `read` throws; 429 if too many wait.
    func take<Value>(_ read: () throws(Problem) -> Value) async throws(Problem) -> (value: Value, waited: Duration) {
        let waited = try await begin()
        defer { end() }
        return (try read(), waited)
    }

    /// Returns when it is the caller's turn, who must end it.
    ///
    /// - Returns: How long that took.
    /// - Throws: 429 if others have waited for so long that one more would be answered too late.
    func begin() async throws(Problem) -> Duration {
        let came = now()
        let isMine = await withCheckedContinuation { continuation in
            let isMine = state.withLock { state -> Bool? in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                if let first = state.waiting.first, first.came + Self.patience < came { return false }
                state.waiting.append((came, continuation))
                return nil
            }
            if let isMine { continuation.resume(returning: isMine) }
        }
        guard isMine else { throw .tooManyRequests(retryAfter: 1) }
        return came.duration(to: now())
    }

    /// Ends a turn: it is the next one's, so that nobody who comes now gets in between.
    func end() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let next = state.waiting.popFirst() else {
                state.free += 1
                return nil
            }
            return next.continuation
        }
        next?.resume(returning: true)
    }
}
