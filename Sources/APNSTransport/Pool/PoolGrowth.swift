/// Decides when a pool opens another connection and when it closes one. It is pure: time and chance are arguments.
struct PoolGrowth {
    enum Decision: Equatable {
        case open
        /// Ask again at that moment, if work still waits then.
        case wait(until: ContinuousClock.Instant)
        /// Not needed or not allowed.
        case none
    }

    private let configuration: APNSClientConfiguration
    private var pause: ReconnectPause
    /// The time to an answer, smoothed like TCP's round-trip time (RFC 6298 §2).
    private var answerTime: Duration?
    private var lastHeard: ContinuousClock.Instant?
    /// The time that the last new connection needed until it was ready for many requests.
    private var openingTime = Duration.zero

    init(configuration: APNSClientConfiguration) {
        self.configuration = configuration
        pause = ReconnectPause(
            shortest: configuration.reconnectDelay,
            longest: configuration.maximumReconnectDelay
        )
    }

    /// Whether to open a connection, because `waiting` pushes found no room on `connections`.
    ///
    /// By Little's law, connections with room for `capacity` requests answer capacity / answer time per second. Another
    /// connection is worth its handshakes if the waiting pushes take longer than opening it. Only one opens at a time:
    /// after it is proven, the pool decides again.
    func decide(
        waiting: Int,
        capacity: Int,
        connections: some Collection<ConnectionStateMachine>,
        now: ContinuousClock.Instant
    ) -> Decision {
        let usable = connections.filter { $0.phase != .draining }
        guard waiting > 0, usable.count < configuration.maximumConnections else {
            return .none
        }
        guard !usable.contains(where: { $0.isPromising(now: now, patience: configuration.firstAnswerPatience) }) else {
            return .none
        }
        if let end = pause.until(now: now) {
            return .wait(until: end)
        }
        if capacity > 0, let answerTime, let lastHeard {
            // Missing answers are slow answers too.
            let expected = max(answerTime, lastHeard.duration(to: now))
            guard expected * (Double(waiting) / Double(capacity)) > openingTime else {
                return .wait(until: now + openingTime)
            }
        }
        return .open
    }

    /// Restarts the measurement of silence: answers arrived, or the first requests after a quiet time are about to
    /// leave.
    mutating func heard(now: ContinuousClock.Instant) {
        lastHeard = now
    }

    /// Records that an answer arrived `latency` after its request had left. A sample is enough.
    mutating func answered(after latency: Duration) {
        answerTime = answerTime.map { $0 + (latency - $0) / 8 } ?? latency
    }

    /// Records that a connection is ready for many requests, `duration` after its beginning.
    mutating func proved(after duration: Duration) {
        openingTime = duration
    }

    /// Records an unusable connection that this side did not choose to close. The next attempt may have to wait.
    mutating func lost(_ connection: ConnectionStateMachine, now: ContinuousClock.Instant, chance: Double) {
        pause.lost(opened: connection.opened, connected: connection.connectedAt, now: now, chance: chance)
    }

    /// Whether a failure still affects when the next connection may be opened.
    func hasRecentFailure(now: ContinuousClock.Instant) -> Bool { !pause.isForgiven(now: now) }

    /// Whether to close a connection without requests that was last used at `lastUse`.
    ///
    /// - `isLast`: whether it is the pool's only one.
    /// - `isAbandoned`: whether every app that used the pool has changed to another key.
    func isSurplus(
        lastUse: ContinuousClock.Instant,
        isLast: Bool,
        isAbandoned: Bool,
        now: ContinuousClock.Instant
    ) -> Bool {
        let limit =
            if isAbandoned {
                configuration.abandonedIdleTimeout
            } else if isLast {
                configuration.lastConnectionIdleTimeout
            } else {
                configuration.idleTimeout
            }
        return lastUse.duration(to: now) >= limit
    }
}
