/// How long to wait before the same thing is tried again: 1 s, doubled with each failure, up to a cap, with jitter.
package struct Backoff: Sendable {
    /// The longest wait (promise 2).
    package let cap: Duration
    /// A number in 0…1, another one each time.
    private let jitter: @Sendable () -> Double

    package init(
        cap: Duration = .seconds(30),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.cap = cap
        self.jitter = jitter
    }

    /// The wait after a number of failures in a row, at least 1: between half and the whole of the doubled time.
    package func delay(afterFailures failures: Int) -> Duration {
        let doubled = Duration.seconds(1) * (1 << min(max(failures, 1) - 1, 20))
        return min(doubled, cap) * (0.5 + 0.5 * min(max(jitter(), 0), 1))
    }
}
