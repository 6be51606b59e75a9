import APITypes
import Synchronization

/// Limits each caller's request rate with a token bucket in this daemon's memory. Each daemon allows the full rate.
final class RateLimiter: Sendable {
    /// A bucket's capacity in seconds of its rate. A caller may use what it has left unused for that long in one burst.
    private static let burstSeconds = 2.0
    /// Above this number of callers, the full buckets are removed. Their callers have been idle.
    private static let manyCallers = 10_000

    private struct Buckets {
        var byCaller: [String: TokenBucket] = [:]
        /// The number of callers at which full buckets are removed next. It is twice the number left by the last
        /// clean-up, so that clean-ups cost constant time per new caller.
        var room = manyCallers
    }

    private let rate: Double
    private let now: @Sendable () -> ContinuousClock.Instant
    private let buckets = Mutex(Buckets())

    /// - Parameters:
    ///   - requestsPerSecond: the rate of one caller, more than 0.
    ///   - now: the clock.
    init(
        requestsPerSecond: Int,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        rate = Double(requestsPerSecond)
        self.now = now
    }

    /// Counts a request.
    ///
    /// - Throws: 429 `too_many_requests` if the bucket is empty, with the time until the next request is allowed.
    func admit(_ caller: String) throws(Problem) {
        let time = now()
        guard let wait = withBucket(of: caller, at: time, { $0.take(1, now: time) }) else { return }
        throw .tooManyRequests(retryAfter: max(1, Int((wait / .seconds(1)).rounded(.up))))
    }

    /// Counts operations that can wait.
    ///
    /// - Returns: Nil, or how long to wait first. Nothing is counted then.
    func take(_ caller: String, _ operations: Int) -> Duration? {
        let time = now()
        return withBucket(of: caller, at: time) { $0.take(Double(operations), now: time) }
    }

    /// The most operations to take together: those of one second.
    var groupSize: Int { max(1, Int(rate)) }

    /// Counts the further operations of a request. ``admit(_:)`` has already counted the first.
    func charge(_ caller: String, _ operations: Int) {
        let time = now()
        withBucket(of: caller, at: time) { $0.charge(Double(operations), now: time) }
    }

    private func withBucket<R: Sendable>(
        of caller: String,
        at time: ContinuousClock.Instant,
        _ body: @Sendable (inout TokenBucket) -> R
    ) -> R {
        buckets.withLock { buckets in
            if buckets.byCaller.count >= buckets.room, buckets.byCaller[caller] == nil {
                buckets.byCaller = buckets.byCaller.filter { !$0.value.isFull(now: time) }
                buckets.room = max(Self.manyCallers, 2 * buckets.byCaller.count)
            }
            let full = TokenBucket(rate: rate, capacity: max(1, rate * Self.burstSeconds), now: time)
            return body(&buckets.byCaller[caller, default: full])
        }
    }
}
