/// How long to wait before something is tried again: the first wait, doubled with each failure in a row, up to a cap.
///
/// Whoever repeats something after a failure asks it, and then sleeps or stores when the next try is due. Up to half of
/// a wait is left to chance, so that those who failed together do not come back together.
package struct Backoff: Sendable {
    /// The wait after the first failure, without the chance.
    package let first: Duration
    /// The longest wait (promise 2).
    package let cap: Duration
    /// A number in 0…1, another one each time.
    private let jitter: @Sendable () -> Double

    package init(
        first: Duration = .seconds(1),
        cap: Duration = .seconds(30),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.first = first
        self.cap = cap
        self.jitter = jitter
    }

    /// The wait after a number of failures in a row, at least 1: between half and the whole of the doubled time.
    package func delay(afterFailures failures: Int) -> Duration {
        delay(afterFailures: failures, jitter: jitter())
    }

    /// The same with the caller's own number instead of chance: from 0, half of the doubled time, to 1, all of it.
    package func delay(afterFailures failures: Int, jitter: Double) -> Duration {
        let doubled = first * (1 << min(max(failures, 1) - 1, 20))
        return min(doubled, cap) * (0.5 + 0.5 * min(max(jitter, 0), 1))
    }
}
