import Synchronization

/// A queue between a loop and a test: posts never wait, the one reader does.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiting: CheckedContinuation<Element, Never>?
    }

    private let state = Mutex(State())

    func post(_ element: Element) {
        let waiting = state.withLock { state -> CheckedContinuation<Element, Never>? in
            if let waiting = state.waiting.take() { return waiting }
            state.elements.append(element)
            return nil
        }
        waiting?.resume(returning: element)
    }

    /// The next element; the test's time limit is the deadline.
    func next() async -> Element {
        await withCheckedContinuation { continuation in
            let element = state.withLock { state -> Element? in
                if !state.elements.isEmpty { return state.elements.removeFirst() }
                state.waiting = continuation
                return nil
            }
            if let element { continuation.resume(returning: element) }
        }
    }

    /// What has arrived and was not read.
    var waiting: [Element] { state.withLock { $0.elements } }
}
