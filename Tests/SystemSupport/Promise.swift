import Dispatch
import Synchronization

/// A value that comes once, for any number of those who wait for it.
package final class Promise<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    private let group = DispatchGroup()

    package init() { group.enter() }

    /// Nil until it is there.
    package var current: Value? { result.withLock { $0 } }

    /// The first value counts.
    package func fulfil(_ value: Value) {
        let isFirst = result.withLock { result in
            guard result == nil else { return false }
            result = value
            return true
        }
        if isFirst { group.leave() }
    }

    /// Blocks the thread until the value is there.
    package func wait() { group.wait() }

    /// Waits for the value; nil when the time is over.
    package func value(within limit: Duration) async -> Value? {
        await withCheckedContinuation { continuation in
            let resumption = Resumption(continuation)
            group.notify(queue: .global()) { [self] in resumption.once(returning: current) }
            DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) {
                resumption.once(returning: nil)
            }
        }
    }
}

/// A continuation for whoever comes first.
package final class Resumption<Value: Sendable>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value?, Never>?>

    package init(_ continuation: CheckedContinuation<Value?, Never>) {
        self.continuation = Mutex(continuation)
    }

    package func once(returning value: Value?) {
        continuation.withLock { $0.take() }?.resume(returning: value)
    }
}
