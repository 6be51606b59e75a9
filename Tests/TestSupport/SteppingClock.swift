import Synchronization

/// A clock that moves on by a step whenever it is read, and when it is told to.
package final class SteppingClock: Sendable {
    private let time = Mutex(ContinuousClock().now)
    private let step: Duration

    package init(step: Duration) { self.step = step }

    package func now() -> ContinuousClock.Instant {
        time.withLock { time in
            defer { time += step }
            return time
        }
    }

    package func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
