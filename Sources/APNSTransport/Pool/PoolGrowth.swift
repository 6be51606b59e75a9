/// When a pool opens another connection, and when it gives one back. Pure: time and chance are arguments.
struct PoolGrowth {
    enum Decision: Equatable {
        case open
        /// Not before that moment.
        case wait(until: ContinuousClock.Instant)
        /// Not needed, or not allowed.
        case none
    }

    private let configuration: APNSClientConfiguration
    private var failures = 0
    private var retryAt: ContinuousClock.Instant?

    init(configuration: APNSClientConfiguration) {
        self.configuration = configuration
    }

    /// Whether to open a connection because `waiting` pushes found no room on `connections`.
    ///
    /// One at a time: whether the next is needed shows once the last has proved itself.
    func decide(
        waiting: Int,
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
        if let retryAt, now < retryAt {
            return .wait(until: retryAt)
        }
        return .open
    }

    /// A connection has proved itself.
    mutating func proved() {
        failures = 0
        retryAt = nil
    }

    /// A connection ended before it answered anything: the next attempt waits, each time twice as long.
    ///
    /// `chance`, from 0 to 1, spreads the attempts of many daemons over half of the delay.
    mutating func failed(now: ContinuousClock.Instant, chance: Double) {
        failures += 1
        let doublings = min(failures - 1, 20)
        let delay = min(configuration.reconnectDelay * (1 << doublings), configuration.maximumReconnectDelay)
        retryAt = now + delay * (0.5 + 0.5 * chance)
    }

    /// Whether a connection without requests that was last used at `lastUse` is to be closed.
    func isSurplus(lastUse: ContinuousClock.Instant, isLast: Bool, now: ContinuousClock.Instant) -> Bool {
        lastUse.duration(to: now) >= (isLast ? configuration.lastConnectionIdleTimeout : configuration.idleTimeout)
    }
}
