/// How long to wait before the same thing is tried again: 1 s, doubled with each failure, up to a cap, with jitter.
package struct Backoff: Hashable, Sendable {
    /// The longest wait (promise 2).
    package let cap: Duration

    package init(cap: Duration = .seconds(30)) {
        self.cap = cap
    }

    /// The wait after a number of failures in a row, at least 1. `jitter` is a random number in 0…1: the wait lies between
    /// half and the whole of the doubled time.
    package func delay(afterFailures failures: Int, jitter: Double) -> Duration {
        let doubled = Duration.seconds(1) * (1 << min(max(failures, 1) - 1, 20))
        return min(doubled, cap) * (0.5 + 0.5 * min(max(jitter, 0), 1))
    }
}
