import Synchronization

/// Limits the number of simultaneous requests. Others wait in order of arrival. A request's timeout starts only after
/// it has passed the gate.
final class RequestGate: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []

        /// False if no slot is free. While anybody waits, no slot is free: ``leave()`` passes its slot on.
        mutating func takePlace() -> Bool {
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    private let state: Mutex<State>

    init(width: Int) {
        state = Mutex(State(free: max(1, width)))
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for a slot; false if the task was cancelled first. After true, the caller must call ``leave()`` once.
    func enter() async -> Bool {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // The cancellation handler may have run before the continuation existed.
                    if Task.isCancelled { return false }
                    if state.takePlace() { return true }
                    state.waiting.append((ticket, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation: CheckedContinuation<Bool, Never>? = state.withLock { state in
                if let index = state.waiting.firstIndex(where: { $0.ticket == ticket }) {
                    return state.waiting.remove(at: index).continuation
                }
                return nil
            }
            continuation?.resume(returning: false)
        }
    }

    /// The same, but also returns false if no slot was free until `end`.
    func enter(until end: ContinuousClock.Instant) async -> Bool {
        guard !Task.isCancelled else { return false }
        // Avoids the tasks below if a slot is free, because they could change the order of arrival.
        if state.withLock({ $0.takePlace() }) { return true }
        // A request that gets its slot exactly at `end` keeps it.
        return await cancelling(at: end) { await self.enter() }.value
    }

    /// Passes the slot to the next in the queue.
    func leave() {
        let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
