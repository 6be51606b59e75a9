import Synchronization

/// What happened, in order, written from any thread.
final class Log<Element: Sendable>: Sendable {
    private let entries = Mutex<[Element]>([])

    func add(_ element: Element) {
        entries.withLock { $0.append(element) }
    }

    var all: [Element] { entries.withLock { $0 } }
}
