internal import Reactor

/// Withdraws a work when its caller's task is cancelled, in whatever order the two arrive at the loop.
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

    /// Tells how to withdraw the work. Only on the loop.
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

    /// The work is over. Only on the loop.
    func disarm() {
        let state = state.value
        state.isOver = true
        state.end = nil
    }

    /// The caller's task was cancelled. Any thread.
    func cancel() {
        loop.execute { [state] in
            let state = state.value
            state.isCancelled = true
            state.end?()
        }
    }
}
