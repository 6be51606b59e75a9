import Synchronization

/// Where calls wait until a test lets them go on.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrived = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func pass() async {
        let watchers = state.withLock { state in
            state.arrived += 1
            let (ready, rest) = (
                state.watchers.filter { $0.count <= state.arrived }, state.watchers.filter { $0.count > state.arrived }
            )
            state.watchers = rest
            return ready
        }
        for watcher in watchers { watcher.continuation.resume() }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    /// Returns when so many calls have come.
    package func arrivals(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.arrived < count { state.watchers.append((count, continuation)) }
                return state.arrived >= count
            }
            if isThere { continuation.resume() }
        }
    }

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
