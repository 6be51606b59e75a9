import APITypes
import Synchronization

/// A bucket for each caller, in this daemon's memory: of several daemons each allows the whole rate.
final class RateLimiter: Sendable {
    /// A bucket holds what comes in so many seconds, so that a caller may do at once what it has left undone for a
    /// while.
    private static let burstSeconds = 2.0
    /// Beyond so many callers those go that have not asked for a while: their buckets are full again.
    private static let manyCallers = 10_000

    private struct Buckets {
        var byCaller: [String: TokenBucket] = [:]
        /// How many there may be before the next look for full ones. It is twice what the last one left, so that a look
        /// costs each new caller no more than a constant.
        var room = manyCallers
    }

    private let rate: Double
    private let now: @Sendable () -> ContinuousClock.Instant
    private let buckets = Mutex(Buckets())

    /// - Parameters:
    ///   - requestsPerSecond: what one caller may do, more than 0.
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
    /// - Throws: 429 `too_many_requests` for one too many, with the time until there may be another.
    func admit(_ caller: String) throws(Problem) {
        let time = now()
        guard let wait = withBucket(of: caller, at: time, { $0.take(1, now: time) }) else { return }
        throw .tooManyRequests(retryAfter: max(1, Int((wait / .seconds(1)).rounded(.up))))
    }

    /// Counts what a request holds beyond the one operation that every request is.
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
