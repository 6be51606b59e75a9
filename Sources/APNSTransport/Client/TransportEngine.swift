internal import ActivityModel
internal import HTTP2Engine
internal import Logging
internal import Metrics
internal import Reactor
internal import TLSEngine

/// All connection pools of the transport. It belongs to the transport's loop.
final class TransportEngine {
    /// The interval of checks for idle connections.
    private static let tidyInterval: Duration = .seconds(15)

    private let loop: EventLoop
    private let context: TLSContext
    private let endpoints: APNSEndpoints
    private let configuration: APNSClientConfiguration
    private let logger: Logger
    private let metrics: TransportMetrics

    private var pools: [ConnectionPool.Key: ConnectionPool] = [:]
    private var trials: [ConnectionTrial] = []
    private var keysInUse = KeysInUse()
    private var tickTimer: TimerID?
    private var tidyTimer: TimerID?
    /// Set once the transport accepts no more work; called after the last connection has closed.
    private var whenClosed: [() -> Void] = []
    private var isClosing = false

    init(
        loop: EventLoop,
        context: TLSContext,
        endpoints: APNSEndpoints,
        configuration: APNSClientConfiguration,
        logger: Logger,
        metrics: any MetricsFactory
    ) {
        self.loop = loop
        self.context = context
        self.endpoints = endpoints
        self.configuration = configuration
        self.logger = logger
        self.metrics = TransportMetrics(factory: metrics)
    }

    /// Submits work and returns a closure that withdraws it.
    ///
    /// Its completion is called on the loop, by its deadline at the latest.
    func submit(
        _ head: RequestHead,
        providerToken: ProviderToken,
        tokens: TokenBuffer?,
        body: [UInt8]?,
        environment: APNSEnvironment,
        identity: SigningIdentity,
        deadline: ContinuousClock.Instant,
        wantsReceipts: Bool,
        completion: @escaping (Work) -> Void
    ) -> (() -> Void)? {
        let work = Work(
            head: head,
            providerToken: providerToken,
            tokens: tokens,
            body: body,
            deadline: deadline,
            wantsReceipts: wantsReceipts
        ) { [weak self] work in
            self?.metrics.record(work, environment: environment)
            completion(work)
        }
        guard !isClosing else {
            work.ledger.settleWaiting(PushOutcome(.notSent, detail: "the transport is shutting down"))
            work.complete()
            return nil
        }
        let key = ConnectionPool.Key(
            environment: environment,
            endpoint: endpoints[environment, head.kind.api],
            identity: identity
        )
        keysInUse.use(identity, app: head.app, environment: environment)
        let pool = pool(key)
        pool.submit(work)
        startTicking()
        startTidying()
        return { [weak pool] in
            pool?.withdraw(work)
        }
    }

    /// Connects to an API once, outside of the pools. `completion` is called on the loop, by `deadline` at the latest.
    func tryConnecting(
        to endpoint: APNSEndpoint,
        deadline: Duration,
        completion: @escaping (ReachabilityOutcome) -> Void
    ) {
        guard !isClosing else {
            return completion(.failed(.other, detail: "the transport is shutting down"))
        }
        let trial = ConnectionTrial(completion: completion) { [weak self] trial in
            guard let self else {
                return
            }
            trials.removeAll { $0 === trial }
            if isClosing {
                closeIfIdle()
            }
        }
        trials.append(trial)
        trial.begin(
            loop: loop,
            context: context,
            endpoint: endpoint,
            through: configuration.proxy,
            deadline: deadline
        )
    }

    /// Accepts no more work, lets open work finish, closes all connections, then calls `done`.
    func close(abandoningWork: Bool, _ done: @escaping () -> Void) {
        isClosing = true
        whenClosed.append(done)
        for trial in trials {
            trial.abandon()
        }
        if abandoningWork {
            abandonWork()
        }
        closeIfIdle()
    }

    /// Ends all open work at once.
    func abandonWork() {
        for pool in pools.values {
            for work in pool.works {
                pool.expire(work, because: "the transport is shutting down")
            }
        }
    }

    private func pool(_ key: ConnectionPool.Key) -> ConnectionPool {
        if let pool = pools[key] {
            return pool
        }
        let pool = ConnectionPool(
            key: key,
            loop: loop,
            context: context,
            configuration: configuration,
            logger: logger,
            report: { [weak self] in self?.heard($0, of: key.environment) }
        )
        pools[key] = pool
        return pool
    }

    private func heard(_ event: ConnectionPool.Event, of environment: APNSEnvironment) {
        if case .retired(let cause) = event {
            metrics.countEnd(cause, environment: environment)
        }
        setGauges(environment)
        if isClosing {
            closeIfIdle()
        }
    }

    private func setGauges(_ environment: APNSEnvironment) {
        var connections = 0
        var streams = 0
        for pool in pools.values where pool.key.environment == environment {
            connections += pool.connections.count
            streams += pool.connections.reduce(into: 0) { $0 += $1.openStreams }
        }
        metrics.setConnections(connections, streams: streams, environment: environment)
    }

    private func closeIfIdle() {
        guard !pools.values.contains(where: \.isBusy) else {
            return
        }
        for pool in pools.values {
            pool.close()
        }
        guard pools.values.allSatisfy(\.connections.isEmpty), trials.isEmpty else {
            return
        }
        if let tickTimer {
            loop.cancel(tickTimer)
        }
        if let tidyTimer {
            loop.cancel(tidyTimer)
        }
        tickTimer = nil
        tidyTimer = nil
        let callbacks = whenClosed
        whenClosed = []
        for callback in callbacks {
            callback()
        }
    }

    // MARK: Time

    private func startTicking() {
        guard tickTimer == nil else {
            return
        }
        let interval = configuration.requestTimeout / Int(ConnectionPool.ticksPerTimeout)
        tickTimer = loop.schedule(after: interval) { [weak self] in
            self?.passTick()
        }
    }

    private func passTick() {
        tickTimer = nil
        for pool in Array(pools.values) {
            pool.passTick()
        }
        for environment in Set(pools.keys.map(\.environment)) {
            setGauges(environment)
        }
        if pools.values.contains(where: \.isBusy) {
            startTicking()
        }
    }

    private func startTidying() {
        guard tidyTimer == nil else {
            return
        }
        let interval = min(
            Self.tidyInterval,
            configuration.idleTimeout,
            configuration.abandonedIdleTimeout,
            configuration.pingInterval
        )
        tidyTimer = loop.schedule(after: interval) { [weak self] in
            self?.tidy()
        }
    }

    private func tidy() {
        tidyTimer = nil
        let now = ContinuousClock.now
        for (key, pool) in pools {
            let isAbandoned = !keysInUse.contains(key.identity, environment: key.environment)
            if !pool.tidy(isAbandoned: isAbandoned, now: now) {
                pools[key] = nil
            }
        }
        if pools.isEmpty {
            keysInUse = KeysInUse()
        } else {
            startTidying()
        }
    }
}
