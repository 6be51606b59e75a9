import Synchronization

/// Lets so many requests through at a time, the others in order of arrival, so that a request's timeout does not begin
/// while it waits for a connection.
final class RequestGate: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []

        /// False if no place is free. While somebody waits none is: ``leave()`` hands its own on.
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

    /// How many wait in line.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for its turn; false if the task was cancelled first. Whoever gets true calls ``leave()`` once.
    func enter() async -> Bool {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // The handler may have run before there was anything to resume.
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

    /// The same; false also if its turn has not come by `end`.
    func enter(until end: ContinuousClock.Instant) async -> Bool {
        guard !Task.isCancelled else { return false }
        // Where there is no line, tasks could only change the order of arrival.
        if state.withLock({ $0.takePlace() }) { return true }
        // One whose turn comes just when it is to end has its place nevertheless.
        return await cancelling(at: end) { await self.enter() }.value
    }

    /// Gives the place to the next in line.
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
