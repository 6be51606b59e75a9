internal import Synchronization

/// Combines concurrent questions for the same key: one caller asks, and the others wait for its answer.
///
/// It caches nothing: a later call asks again.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Turn {
        case answer(Result<Value, any Error>)
        /// No one else is asking any more, so this caller must ask.
        case toAsk
    }

    /// The waiting callers, by key.
    private let waiting = Mutex<[Key: [CheckedContinuation<Turn, Never>]]>([:])

    package init() {}

    /// Returns the answer for a key. It calls `ask` unless another caller is already asking.
    ///
    /// A waiting caller waits for that answer even if it is cancelled; then it throws. So `ask` must have a deadline.
    /// If the asking caller is cancelled, the next waiting one asks.
    ///
    /// - Throws: The error of `ask`, also of another caller's; `CancellationError`.
    package func value(
        for key: Key,
        asking ask: @Sendable () async throws -> Value
    ) async throws -> Value {
        switch await turn(key) {
        case .answer(let answer):
            // A cancelled caller must not act on the answer.
            try Task.checkCancellation()
            return try answer.get()
        case .toAsk: break
        }
        do {
            let value = try await ask()
            answer(.success(value), to: key)
            return value
        } catch {
            if Task.isCancelled {
                // The others must not fail because of this cancellation.
                passOn(key)
            } else {
                answer(.failure(error), to: key)
            }
            throw error
        }
    }

    private func turn(_ key: Key) async -> Turn {
        await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                guard waiting[key] != nil else {
                    waiting[key] = []
                    return true
                }
                waiting[key]?.append(continuation)
                return false
            }
            if isFirst { continuation.resume(returning: .toAsk) }
        }
    }

    private func answer(_ answer: Result<Value, any Error>, to key: Key) {
        let all = waiting.withLock { $0.removeValue(forKey: key) } ?? []
        for continuation in all { continuation.resume(returning: .answer(answer)) }
    }

    private func passOn(_ key: Key) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Turn, Never>? in
            guard let next = waiting[key]?.first else {
                waiting[key] = nil
                return nil
            }
            waiting[key]?.removeFirst()
            return next
        }
        next?.resume(returning: .toAsk)
    }
}
