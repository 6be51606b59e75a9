import Synchronization

/// Lets some through at a time; the others wait in the order in which they came.
package final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// `width`: how many may be inside.
    package init(width: Int) {
        state = Mutex(State(free: width))
    }

    /// Does the work when there is room. Cancellation does not end the wait: a cancelled task gets its turn as well.
    package func pass<Result: Sendable>(_ work: () async throws -> Result) async rethrows -> Result {
        await enter()
        defer { leave() }
        return try await work()
    }

    /// Waits until there is room. Whoever enters leaves later.
    package func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    package func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
