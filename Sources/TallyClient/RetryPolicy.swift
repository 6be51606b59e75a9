import APITypes
import Waiting

/// When to retry a request: after a failed connection, and after answers that mean "later".
package struct RetryPolicy: Sendable, Hashable {
    /// The longest delay after the first failure. It doubles with each further failure.
    package var firstDelay: Duration
    /// The upper limit of the doubling.
    package var longestDelay: Duration

    package init(firstDelay: Duration = .milliseconds(100), longestDelay: Duration = .seconds(2)) {
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
    }

    /// The delay after `failures` failures (1 for the first). It is shortened by up to a half, so that clients that
    /// failed together do not retry together.
    ///
    /// `jitter` is from 0, the longest delay, to 1. `retryAfter` is the server's minimum in seconds.
    package func delay(afterFailures failures: Int, jitter: Double, retryAfter: Int? = nil) -> Duration {
        let wait = Backoff(first: firstDelay, cap: longestDelay).delay(afterFailures: failures, jitter: 1 - jitter)
        return max(wait, .seconds(retryAfter ?? 0))
    }

    /// The statuses of a proxy that gets no answer from the server.
    static let proxyStatuses: Set = [502, 503, 504]

    /// Whether the status asks for a retry.
    ///
    /// 409 `idempotency_in_progress` means that the first try of this request still runs, or was lost with its daemon.
    static func asksForRetry(status: Int, code: String?) -> Bool {
        switch status {
        case 429: true
        case _ where proxyStatuses.contains(status): true
        case 409: code == Problem.Code.idempotencyInProgress
        default: false
        }
    }
}
