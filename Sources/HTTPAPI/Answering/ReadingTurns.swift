import APITypes
import NIOCore
import Synchronization

/// A queue that lets only a few large batches be read at the same time, in order of arrival.
///
/// If a thousand batches were read at once, each step of each one would wait for all the others, and none would be
/// answered. The queue also measures how long the first one has waited, so that the server knows when to refuse
/// another.
final class ReadingTurns: Sendable {
    private struct State {
        /// How many more may be read now. Zero while anybody waits.
        var free: Int
        /// The waiting batches, in order of arrival.
        var waiting = CircularBuffer<(came: ContinuousClock.Instant, continuation: CheckedContinuation<Bool, Never>)>()
    }

    /// Once the first batch in the queue has waited this long, new batches are refused. Their callers would give up
    /// before the answer.
    static let patience = Duration.seconds(5)

    private let state: Mutex<State>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - count: the number of batches read at the same time.
    ///   - now: the clock.
    init(count: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        state = Mutex(State(free: count))
        self.now = now
    }

    /// Half of the processors read, so that the other half can carry out batches.
    static func ofThisMachine() -> ReadingTurns { ReadingTurns(count: max(1, System.coreCount / 2)) }

    /// The number of batches in the queue.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Reads as soon as it is this batch's turn.
    ///
    /// - Returns: The value, and how long the batch waited.
    /// - Throws: The error of `read`; 429 if the queue is too slow.
    func take<Value>(_ read: () throws(Problem) -> Value) async throws(Problem) -> (value: Value, waited: Duration) {
        let waited = try await begin()
        defer { end() }
        return (try read(), waited)
    }

    /// Waits for a turn. The caller must call ``end()`` afterwards.
    ///
    /// - Returns: How long it waited.
    /// - Throws: 429 if the first batch in the queue has already waited too long.
    func begin() async throws(Problem) -> Duration {
        let came = now()
        guard await enter(came: came, givesUp: true) else { throw .tooManyRequests(retryAfter: 1) }
        return came.duration(to: now())
    }

    /// Reads as soon as it is the caller's turn, however long that takes. It is for a caller that sends nothing more
    /// meanwhile.
    func wait<Value: Sendable>(_ read: () -> Value) async -> Value {
        _ = await enter(came: now(), givesUp: false)
        defer { end() }
        return read()
    }

    /// - Returns: Whether it is the caller's turn. False only if it gives up a queue that is too slow.
    private func enter(came: ContinuousClock.Instant, givesUp: Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            let isMine = state.withLock { state -> Bool? in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                if givesUp, let first = state.waiting.first, first.came + Self.patience < came { return false }
                state.waiting.append((came, continuation))
                return nil
            }
            if let isMine { continuation.resume(returning: isMine) }
        }
    }

    /// Passes the turn directly to the next in the queue, so that no later batch takes it.
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
