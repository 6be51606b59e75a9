/// How long a pool waits before it connects again. Pure: time and chance are arguments.
///
/// Apple may take connections that are opened and closed in quick succession for an attack ("Establishing a connection
/// to APNs"). So every connection that did not last counts, also one that came up and answered.
struct ReconnectPause {
    private let shortest: Duration
    private let longest: Duration
    private var failures = 0
    private var lastFailure: ContinuousClock.Instant?
    private var end: ContinuousClock.Instant?

    /// A pause of `shortest` after the first failure, doubled with each further one up to `longest`.
    ///
    /// A connection that served for `longest` was no failure, and twice as long without a failure forgives the earlier
    /// ones.
    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
    }

    /// When the next attempt may begin; nil if at once.
    func until(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        end.flatMap { now < $0 ? $0 : nil }
    }

    /// Whether nothing of it matters any more: no failure, or none for so long that the next one counts as the first.
    func isForgiven(now: ContinuousClock.Instant) -> Bool {
        lastFailure.map { $0.duration(to: now) >= longest * 2 } ?? true
    }

    /// A connection is of no more use, and not because we had none for it.
    ///
    /// - `opened`: when the attempt began. Connections that were there at the last failure ended with it and do not
    ///   count again, so that a restart of the server is one failure however many connections it costs.
    /// - `connected`: when it came up, if it did.
    /// - `chance`: from 0 to 1, spreads the attempts of many daemons over half of the pause.
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
        let pause = min(shortest * (1 << min(failures - 1, 20)), longest)
        end = now + pause * (0.5 + 0.5 * chance)
    }
}
