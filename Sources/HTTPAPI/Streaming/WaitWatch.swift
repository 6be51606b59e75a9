import Synchronization

/// Acts if a stream waits too long for its peer, so that no wait lasts forever.
final class WaitWatch: Sendable {
    private let patience: Duration
    /// When the current wait began; nil between waits.
    private let waitingSince = Mutex<ContinuousClock.Instant?>(nil)
    private let (over, overContinuation) = AsyncStream.makeStream(of: Void.self)

    init(patience: Duration) {
        self.patience = patience
    }

    func beginWaiting() {
        waitingSince.withLock { $0 = .now }
    }

    /// The peer did its part. A wait that fails ends the stream and needs no call.
    func endWaiting() {
        waitingSince.withLock { $0 = nil }
    }

    /// The stream waits no more.
    func end() {
        overContinuation.finish()
    }

    /// Watches until ``end()``. If a wait lasts too long, calls `giveUp`, which ends the wait.
    func run(giveUp: @escaping @Sendable () -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    let since = self.waitingSince.withLock { $0 }
                    if let since, since.duration(to: .now) >= self.patience { giveUp() }
                    try? await Task.sleep(for: self.patience / 4)  // throws only on cancellation
                }
            }
            for await _ in over {}
            group.cancelAll()
        }
    }
}
