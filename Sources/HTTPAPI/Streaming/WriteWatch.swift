import Synchronization

/// Sees to it that no write waits for ever for a reader that takes nothing.
final class WriteWatch: Sendable {
    private let patience: Duration
    /// Since when a write waits.
    private let writingSince = Mutex<ContinuousClock.Instant?>(nil)
    private let (over, overContinuation) = AsyncStream.makeStream(of: Void.self)

    init(patience: Duration) {
        self.patience = patience
    }

    /// A write begins.
    func beginWriting() {
        writingSince.withLock { $0 = .now }
    }

    /// It has gone through. One that fails ends the stream and needs no watch.
    func endWriting() {
        writingSince.withLock { $0 = nil }
    }

    /// There will be no more writes.
    func end() {
        overContinuation.finish()
    }

    /// Watches until ``end()``; calls `hangUp` if a write waits for too long, which makes it fail.
    func run(hangUp: @escaping @Sendable () -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    let since = self.writingSince.withLock { $0 }
                    if let since, since.duration(to: .now) >= self.patience { hangUp() }
                    try? await Task.sleep(for: self.patience / 4)  // throws only when cancelled
                }
            }
            for await _ in over {}
            group.cancelAll()
        }
    }
}
