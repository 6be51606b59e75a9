import Synchronization

/// Closes a stream whose reader is too slow, so that no write waits forever.
final class WriteWatch: Sendable {
    private let patience: Duration
    /// When the current write began; nil between writes.
    private let writingSince = Mutex<ContinuousClock.Instant?>(nil)
    private let (over, overContinuation) = AsyncStream.makeStream(of: Void.self)

    init(patience: Duration) {
        self.patience = patience
    }

    func beginWriting() {
        writingSince.withLock { $0 = .now }
    }

    /// The write succeeded. A failed write ends the stream and needs no call.
    func endWriting() {
        writingSince.withLock { $0 = nil }
    }

    /// The stream has no more writes.
    func end() {
        overContinuation.finish()
    }

    /// Watches until ``end()``. If a write waits too long, calls `hangUp`, which makes the write fail.
    func run(hangUp: @escaping @Sendable () -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    let since = self.writingSince.withLock { $0 }
                    if let since, since.duration(to: .now) >= self.patience { hangUp() }
                    try? await Task.sleep(for: self.patience / 4)  // throws only on cancellation
                }
            }
            for await _ in over {}
            group.cancelAll()
        }
    }
}
