internal import Reactor

/// Withdraws work when its caller's task is cancelled. The cancellation and the work may reach the loop in either
/// order.
final class WorkCancellation: Sendable {
    private final class State {
        var end: (() -> Void)?
        var isOver = false
        var isCancelled = false
    }

    private let loop: EventLoop
    private let state: LoopBound<State>

    init(loop: EventLoop) {
        self.loop = loop
        state = LoopBound(sending: State(), to: loop)
    }

    /// Sets the closure that withdraws the work. Only on the loop.
    func arm(_ end: (() -> Void)?) {
        let state = state.value
        guard !state.isOver else {
            return
        }
        if state.isCancelled {
            end?()
        } else {
            state.end = end
        }
    }

    /// Marks the work as complete. Only on the loop.
    func disarm() {
        let state = state.value
        state.isOver = true
        state.end = nil
    }

    /// Records that the caller's task was cancelled. Any thread may call it.
    func cancel() {
        loop.execute { [state] in
            let state = state.value
            state.isCancelled = true
            state.end?()
        }
    }
}
