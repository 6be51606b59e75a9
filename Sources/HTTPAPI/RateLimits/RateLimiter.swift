import APITypes
import Synchronization

/// A bucket for each API key, in this daemon's memory: of several daemons each allows the whole rate.
final class RateLimiter: Sendable {
    /// A bucket holds what comes in so many seconds, so that a caller may do at once what it has left undone for a while.
    private static let burstSeconds = 2.0
    /// Beyond so many keys those go that have not been used for a while: their buckets are full again.
    private static let manyKeys = 10_000

    private let rate: Double
    private let now: @Sendable () -> ContinuousClock.Instant
    private let buckets = Mutex<[String: TokenBucket]>([:])

    /// - Parameters:
    ///   - requestsPerSecond: what one key may do, more than 0.
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
    func admit(keyID: String) throws(Problem) {
        let time = now()
        guard let wait = withBucket(of: keyID, at: time, { $0.take(1, now: time) }) else { return }
        throw .tooManyRequests(retryAfter: max(1, Int((wait / .seconds(1)).rounded(.up))))
    }

    /// Counts what a request holds beyond the one operation that every request is.
    func charge(keyID: String, _ operations: Int) {
        let time = now()
        withBucket(of: keyID, at: time) { $0.charge(Double(operations), now: time) }
    }

    private func withBucket<R: Sendable>(
        of keyID: String,
        at time: ContinuousClock.Instant,
        _ body: @Sendable (inout TokenBucket) -> R
    ) -> R {
        buckets.withLock { buckets in
            if buckets.count >= Self.manyKeys, buckets[keyID] == nil {
                for key in buckets.keys where buckets[key]?.isFull(now: time) == true { buckets[key] = nil }
            }
            let full = TokenBucket(rate: rate, capacity: max(1, rate * Self.burstSeconds), now: time)
            return body(&buckets[keyID, default: full])
        }
    }
}
