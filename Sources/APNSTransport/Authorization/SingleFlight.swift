internal import Synchronization

/// Lets whoever asks for something that another is asking for already wait for that answer, so that a crowd which comes
/// at once asks once.
///
/// Nothing is remembered beyond the answer: who comes later asks anew.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private enum Turn {
        case answer(Result<Value, any Error>)
        /// Whoever asked has given up; it is the waiting one's to ask now.
        case toAsk
    }

    /// Who waits, by what is being asked for.
    private let waiting = Mutex<[Key: [CheckedContinuation<Turn, Never>]]>([:])

    package init() {}

    /// The answer to a question, which is asked by `ask` unless somebody else is at it.
    ///
    /// Who waits does so until the other's answer, cancelled or not, so `ask` has to have a deadline; who was cancelled
    /// then throws. If the one who asks is cancelled, the next who waits asks.
    ///
    /// - Throws: What `ask` throws, also that of another; `CancellationError`.
    package func value(
        for key: Key,
        asking ask: @Sendable () async throws -> Value
    ) async throws -> Value {
        switch await turn(key) {
        case .answer(let answer):
            // Who was cancelled meanwhile is not to act upon it.
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
                // Nobody else is to fail by that.
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
