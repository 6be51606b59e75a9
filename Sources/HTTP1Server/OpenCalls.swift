import Synchronization

/// Counts the requests that a listener answers at this moment, so that it returns only after the last one.
final class OpenCalls: Sendable {
    private struct State {
        var count = 0
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func enter() { state.withLock { $0.count += 1 } }

    func leave() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count -= 1
            guard state.count == 0 else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns when there is none. Only one task may wait.
    func drain() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if state.count > 0 { state.waiter = continuation }
                return state.count == 0
            }
            if isEmpty { continuation.resume() }
        }
    }
}
