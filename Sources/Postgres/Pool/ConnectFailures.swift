import Waiting

/// Counts the failures in a row to reach a server. ``Database`` and its listeners wait as long as it says before the next
/// attempt to connect.
struct ConnectFailures: Sendable {
    private let backoff: Backoff
    private(set) var count = 0

    init(longestPause: Duration, jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) }) {
        backoff = Backoff(first: .milliseconds(50), cap: longestPause, jitter: jitter)
    }

    /// The time to wait before the next attempt; zero after a success.
    var pause: Duration { count > 0 ? backoff.delay(afterFailures: count) : .zero }

    mutating func failed() { count += 1 }

    mutating func succeeded() { count = 0 }
}
