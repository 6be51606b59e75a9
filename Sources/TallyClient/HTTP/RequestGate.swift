import Synchronization

/// Lets so many requests through at a time, the others in order of arrival, so that a request's timeout does not begin
/// while it waits for a connection.
final class RequestGate: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Bool, Never>)] = []
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
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
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
        await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await self.enter() }
            group.addTask {
                try? await ContinuousClock().sleep(until: end)  // throws only when cancelled
                return nil
            }
            // Whichever is first ends the other. One whose turn comes in the same moment has its place nevertheless.
            for await entered in group {
                group.cancelAll()
                if let entered { return entered }
            }
            return false
        }
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
