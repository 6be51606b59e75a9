import Synchronization

/// A queue between a loop and a test: posts never wait, the one reader does.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiting: CheckedContinuation<Element, any Error>?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func post(_ element: Element) {
        let waiting = state.withLock { state -> CheckedContinuation<Element, any Error>? in
            if let waiting = state.waiting.take() { return waiting }
            state.elements.append(element)
            return nil
        }
        waiting?.resume(returning: element)
    }

    /// The next element. The test's time limit is the deadline: it cancels the task, which ends the wait.
    func next() async throws -> Element {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Element, any Error>? in
                    if state.isCancelled { return .failure(CancellationError()) }
                    if !state.elements.isEmpty { return .success(state.elements.removeFirst()) }
                    state.waiting = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiting = state.withLock { state -> CheckedContinuation<Element, any Error>? in
                state.isCancelled = true
                return state.waiting.take()
            }
            waiting?.resume(throwing: CancellationError())
        }
    }
}
