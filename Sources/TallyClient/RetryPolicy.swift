import APITypes

/// When a request is tried again: after a failed connection and after the answers that say "later".
package struct RetryPolicy: Sendable, Hashable {
    /// The longest wait after the first failure; it doubles from one failure to the next.
    package var firstDelay: Duration
    /// What the doubling ends at.
    package var longestDelay: Duration

    package init(firstDelay: Duration = .milliseconds(100), longestDelay: Duration = .seconds(2)) {
        self.firstDelay = firstDelay
        self.longestDelay = longestDelay
    }

    /// The wait after so many failures (1 for the first), shortened by up to a half so that clients that failed
    /// together do not come back together.
    ///
    /// `jitter` is from 0, the longest wait, to 1. `retryAfter`, in seconds, is what the server asked for; it is never
    /// undercut.
    package func delay(afterFailures failures: Int, jitter: Double, retryAfter: Int? = nil) -> Duration {
        var wait = firstDelay
        for _ in 1..<max(failures, 1) where wait < longestDelay { wait *= 2 }
        let shortened = min(wait, longestDelay) * (1 - jitter / 2)
        return max(shortened, .seconds(retryAfter ?? 0))
    }

    /// By which a proxy says that it has no answer of the server's.
    static let proxyStatuses: Set = [502, 503, 504]

    /// What an answer's status asks of the client.
    ///
    /// 409 `idempotency_in_progress` is the first try of this very request, still running or lost with its daemon.
    static func asksForRetry(status: Int, code: String?) -> Bool {
        switch status {
        case 429: true
        case _ where proxyStatuses.contains(status): true
        case 409: code == Problem.Code.idempotencyInProgress
        default: false
        }
    }
}
