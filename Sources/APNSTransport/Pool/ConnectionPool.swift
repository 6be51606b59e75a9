internal import ActivityModel
internal import HTTP2Engine
internal import Logging
internal import Reactor
internal import TLSEngine

/// All connections to one endpoint for one team and key, and the work that waits for them. It belongs to the
/// transport's loop.
///
/// A request leaves as soon as a connection has room. A request that was certainly not processed returns to the queue
/// until its batch's deadline. A request that left without an answer becomes ``PushOutcome/Class/unknown``.
final class ConnectionPool {
    /// The key by which requests share connections. Apple binds a connection to one team, and new keys to one
    /// environment.
    struct Key: Hashable {
        let environment: APNSEnvironment
        let endpoint: APNSEndpoint
        let identity: SigningIdentity
    }

    /// An event for the engine.
    enum Event {
        /// Some work is complete.
        case finished
        /// A connection was opened.
        case opened
        /// A connection has closed.
        case closed
        /// A connection accepts no more requests, for this reason; it may still be open.
        case retired(RetirementCause)
    }

    /// How many pushes of one batch leave in a row while other work waits.
    private static let burst = 64
    /// The number of ticks in a request's timeout. The request is given up at most one tick later.
    static let ticksPerTimeout: UInt8 = 8

    let key: Key
    let loop: EventLoop
    let context: TLSContext
    let configuration: APNSClientConfiguration
    let logger: Logger
    /// Called with each event; never while the pool iterates over its lists.
    let report: (Event) -> Void

    var connections: [PooledConnection] = []
    var lastNumber: UInt16 = 0
    var growth: PoolGrowth
    /// Whether an answer has arrived since the last group of events.
    var hasHeard = false
    private(set) var table = WorkTable()
    private(set) var ready = ReadyQueue()
    private var token = TokenInUse()
    private var recentHeaders: RecentHeaders
    private var tick: UInt8 = 0
    private var wakeUp: (timer: TimerID, at: ContinuousClock.Instant)?
    /// Why there is no connection, or none with room, according to the last failure.
    var lastFailure: String?

    init(
        key: Key,
        loop: EventLoop,
        context: TLSContext,
        configuration: APNSClientConfiguration,
        logger: Logger,
        report: @escaping (Event) -> Void
    ) {
        self.key = key
        self.loop = loop
        self.context = context
        self.configuration = configuration
        self.report = report
        growth = PoolGrowth(configuration: configuration)
        recentHeaders = RecentHeaders(authority: key.endpoint.authority)
        var logger = logger
        logger[metadataKey: "apns.endpoint"] = "\(key.endpoint)"
        logger[metadataKey: "apns.team"] = "\(key.identity.teamID)"
        logger[metadataKey: "apns.key"] = "\(key.identity.keyID)"
        self.logger = logger
    }

    /// Whether any work is open.
    var isBusy: Bool { table.count > 0 }

    // MARK: Work

    /// Submits work. It completes by its deadline at the latest, never inside this call.
    func submit(_ work: Work) {
        let now = ContinuousClock.now
        if !isBusy {
            growth.heard(now: now)
        }
        guard table.insert(work) else {
            work.ledger.settleWaiting(PushOutcome(.notSent, detail: "too many batches under way"))
            loop.schedule(after: .zero) { work.complete() }
            return
        }
        work.deadlineTimer = loop.schedule(after: now.duration(to: work.deadline)) { [weak self] in
            work.deadlineTimer = nil
            self?.expire(work)
        }
        ready.add(work)
        pump(now: now)
    }

    /// Ends work now: waiting pushes are not sent, pushes in flight are given up.
    func expire(_ work: Work, because reason: String? = nil) {
        work.ledger.settleWaiting(PushOutcome(.notSent, detail: reason ?? obstacle))
        // No answer for half of a request's timeout is suspicious. A batch with a short deadline is not.
        giveUp(work, age: 0, suspectAge: Self.ticksPerTimeout / 2, "no answer before the deadline")
        finish(work)
    }

    /// The caller wants no more pushes to begin. Waiting pushes are not sent; pushes in flight keep their time.
    func withdraw(_ work: Work) {
        let reason = "the caller gave up"
        work.withdrawal = reason
        ready.remove(work)
        work.ledger.settleWaiting(PushOutcome(.notSent, detail: reason))
        finishIfComplete(work)
    }

    /// Why waiting pushes have not left.
    private var obstacle: String {
        if let lastFailure {
            return "no connection: \(lastFailure)"
        }
        let isConnected = connections.contains { $0.state.phase != .draining && $0.state.connectedAt != nil }
        return isConnected ? "no free stream before the deadline" : "no connection before the deadline"
    }

    /// Sends as much as there is room for, and opens a connection if that is not enough.
    func pump(now: ContinuousClock.Instant = .now) {
        guard !ready.isEmpty else {
            return
        }
        for connection in connections {
            var room = connection.room(now: now)
            while room > 0, let work = ready.next() {
                guard let sent = send(work, on: connection, atMost: min(room, Self.burst), now: now) else {
                    break
                }
                room -= sent
            }
        }
        guard !ready.isEmpty else {
            return
        }
        let decision = growth.decide(
            waiting: ready.waiting,
            capacity: connections.reduce(into: 0) { $0 += $1.capacity(now: now) },
            connections: connections.lazy.map(\.state),
            now: now
        )
        switch decision {
        case .open: open(now: now)
        case .wait(let moment):
            failWaiting(until: moment)
            wake(at: moment, now: now)
        case .none: break
        }
    }

    /// Puts a push back that was certainly not processed, unless its work is withdrawn.
    func putBack(_ work: Work, _ index: Int) {
        work.ledger.putBack(index)
        if let reason = work.withdrawal {
            work.ledger.settleWaiting(PushOutcome(.notSent, detail: reason))
        } else {
            ready.add(work)
        }
    }

    /// Sends up to `limit` pushes. Returns how many left, or `nil` if the connection accepts no more.
    private func send(
        _ work: Work,
        on connection: PooledConnection,
        atMost limit: Int,
        now: ContinuousClock.Instant
    ) -> Int? {
        var sent = 0
        var isFull = true
        defer {
            if sent > 0 {
                connection.state.sent(now: now)
            }
        }
        do {
            let headers = try work.headers(token.inPlace(of: work.providerToken), from: &recentHeaders)
            let place = BatchLedger.Flight(stream: nil, connection: connection.number, tick: tick)
            try connection.withSubmissions(headers: headers, body: work.body) { (submissions) throws(HTTP2Error) in
                isFull = try !work.send(upTo: limit, place, now: now, through: &submissions, counting: &sent)
            }
            return isFull ? nil : sent
        } catch {
            // No push of this work can ever leave, because a field is invalid in HTTP/2.
            work.ledger.settleTaken(PushOutcome(.requestInvalid, detail: "\(error)"))
            finishSoon(work)
            return sent
        }
    }

    func finishIfComplete(_ work: Work) {
        if work.ledger.isComplete {
            finish(work)
        }
    }

    /// Finishes in a later pass, so that no callback runs while the pool iterates over its lists.
    func finishSoon(_ work: Work) {
        loop.schedule(after: .zero) { [weak self] in
            self?.finishIfComplete(work)
        }
    }

    private func finish(_ work: Work) {
        guard table.find(WorkTable.tag(work, 0))?.work === work else {
            return
        }
        table.remove(work)
        // Without a connection, the queue itself would never drop it.
        ready.remove(work)
        if let timer = work.deadlineTimer {
            loop.cancel(timer)
            work.deadlineTimer = nil
        }
        work.complete()
        report(.finished)
    }

    /// Settles pushes that have been in flight for `age` ticks or more as unknown. Pings connections that have left
    /// requests unanswered.
    private func giveUp(_ work: Work, age: UInt8, suspectAge: UInt8, _ detail: String) {
        let outcome = PushOutcome(.unknown, detail: detail)
        for flight in work.ledger.settleAloft(at: tick, age: age, outcome) {
            guard let connection = connections.first(where: { $0.number == flight.connection }) else {
                continue
            }
            if let stream = flight.stream {
                connection.cancel(stream)
            }
            if tick &- flight.tick >= suspectAge, connection.state.suspect() {
                connection.ping(timeout: configuration.pingTimeout)
            }
        }
    }

    // MARK: Time

    func wake(at moment: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        if let wakeUp {
            guard moment < wakeUp.at else {
                return
            }
            loop.cancel(wakeUp.timer)
        }
        let timer = loop.schedule(after: now.duration(to: moment)) { [weak self] in
            self?.wakeUp = nil
            self?.pump()
        }
        wakeUp = (timer, moment)
    }

    /// Called eight times per request timeout while there is work. Gives up requests without an answer.
    func passTick() {
        tick &+= 1
        for work in Array(table.works) {
            giveUp(
                work,
                // The first tick may come right after the request has left.
                age: Self.ticksPerTimeout + 1,
                suspectAge: Self.ticksPerTimeout + 1,
                "no answer within \(configuration.requestTimeout)"
            )
            finishIfComplete(work)
        }
        pump()
    }

    /// All open work.
    var works: [Work] { Array(table.works) }
}
