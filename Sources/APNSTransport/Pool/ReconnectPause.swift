import Waiting

/// How long a pool waits before it connects again. It is pure: time and chance are arguments.
///
/// Apple may treat connections that open and close in quick succession as an attack ("Establishing a connection to
/// APNs"). So every short-lived connection counts as a failure, even one that became ready and answered.
struct ReconnectPause {
    private let shortest: Duration
    private let longest: Duration
    private var failures = 0
    private var lastFailure: ContinuousClock.Instant?
    private var end: ContinuousClock.Instant?

    /// A pause of `shortest` after the first failure. Each further failure doubles it, up to `longest`.
    ///
    /// A connection that served for `longest` is not a failure. After twice as long without a failure, earlier ones are
    /// forgotten.
    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
    }

    /// When the next attempt may begin; `nil`: at once.
    func until(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        end.flatMap { now < $0 ? $0 : nil }
    }

    /// Whether earlier failures no longer matter: there was none, or the last one is so old that the next counts as the
    /// first.
    func isForgiven(now: ContinuousClock.Instant) -> Bool {
        lastFailure.map { $0.duration(to: now) >= longest * 2 } ?? true
    }

    /// Records an unusable connection that this side did not choose to close.
    ///
    /// - `opened`: when the attempt began. Connections that existed at the last failure do not count again. So a
    ///   restart of the server is one failure, however many connections it ends.
    /// - `connected`: when it became ready, if it did.
    /// - `chance`: from 0 to 1; spreads the attempts of many daemons over half of the pause.
    mutating func lost(
        opened: ContinuousClock.Instant,
        connected: ContinuousClock.Instant?,
        now: ContinuousClock.Instant,
        chance: Double
    ) {
        if let connected, connected.duration(to: now) >= longest {
            return
        }
        if let lastFailure, opened <= lastFailure {
            return
        }
        if isForgiven(now: now) {
            failures = 0
        }
        failures += 1
        lastFailure = now
        end = now + Backoff(first: shortest, cap: longest).delay(afterFailures: failures, jitter: chance)
    }
}
