internal import ActivityModel
internal import HTTP2Engine
internal import Logging
internal import Reactor
internal import TLSEngine

/// All connections to one endpoint for one team and key, and the work that waits for them. Belongs to the transport's loop.
///
/// A request leaves as soon as a connection has room. What was certainly not processed goes back to the queue until its
/// batch's deadline; what left and stayed without an answer is ``PushOutcome/Class/unknown``.
final class ConnectionPool {
    /// What connections are shared by: Apple binds a connection to one team, and new keys to one environment.
    struct Key: Hashable {
        let environment: APNSEnvironment
        let endpoint: APNSEndpoint
        let identity: SigningIdentity
    }

    /// How many pushes of one work leave in a row while others wait.
    private static let burst = 64
    /// How many ticks make a request's time; it is given up one tick later at the most.
    static let ticksPerTimeout: UInt8 = 8

    let key: Key
    private let loop: EventLoop
    private let context: TLSContext
    private let tokens: TokenSource
    private let configuration: APNSClientConfiguration
    private let logger: Logger
    /// Called when a work is complete, or the number of connections has changed.
    private let changed: () -> Void

    private(set) var connections: [PooledConnection] = []
    private var lastNumber: UInt16 = 0
    private var growth: PoolGrowth
    private var table = WorkTable()
    /// The works that have something to send, in turn.
    private var ready: [Work] = []
    private var turn = 0
    private var tick: UInt8 = 0
    private var wakeUp: (timer: TimerID, at: ContinuousClock.Instant)?
    /// Why the last attempt to connect failed.
    private var lastFailure: HTTP2Error?

    init(
        key: Key,
        loop: EventLoop,
        context: TLSContext,
        tokens: TokenSource,
        configuration: APNSClientConfiguration,
        logger: Logger,
        changed: @escaping () -> Void
    ) {
        self.key = key
        self.loop = loop
        self.context = context
        self.tokens = tokens
        self.configuration = configuration
        self.changed = changed
        growth = PoolGrowth(configuration: configuration)
        var logger = logger
        logger[metadataKey: "apns.endpoint"] = "\(key.endpoint)"
        logger[metadataKey: "apns.team"] = "\(key.identity.teamID)"
        logger[metadataKey: "apns.key"] = "\(key.identity.keyID)"
        self.logger = logger
    }

    /// Whether anything is under way.
    var isBusy: Bool { table.count > 0 }

    // MARK: Work

    /// Takes up a work; it is completed by its deadline at the latest, never inside this call.
    func submit(_ work: Work) {
        guard table.insert(work) else {
            work.ledger.settleWaiting(PushOutcome(.notSent, detail: "too many batches under way"))
            loop.schedule(after: .zero) { work.complete() }
            return
        }
        work.deadlineTimer = loop.schedule(after: ContinuousClock.now.duration(to: work.deadline)) { [weak self] in
            work.deadlineTimer = nil
            self?.expire(work)
        }
        enqueue(work)
        pump()
    }

    /// Ends a work now: what waits is not sent, what is in flight is given up.
    func expire(_ work: Work, because reason: String? = nil) {
        let cause = reason ?? lastFailure.map { "no connection: \($0)" } ?? "no free stream before the deadline"
        work.ledger.settleWaiting(PushOutcome(.notSent, detail: cause))
        // Half a request's time without an answer is suspicious; a batch that was short of time from the start is not.
        giveUp(work, age: 0, suspectAge: Self.ticksPerTimeout / 2, "no answer before the deadline")
        finish(work)
    }

    /// Sends what there is room for, and opens a connection if that is not enough.
    func pump() {
        guard !ready.isEmpty else {
            return
        }
        let now = ContinuousClock.now
        for connection in connections {
            var room = connection.room(now: now)
            while room > 0, let work = nextReady() {
                guard let sent = send(work, on: connection, atMost: min(room, Self.burst), now: now) else {
                    break
                }
                room -= sent
            }
        }
        guard !ready.isEmpty else {
            return
        }
        let waiting = ready.reduce(into: 0) { $0 += $1.ledger.waiting }
        switch growth.decide(waiting: waiting, connections: connections.lazy.map(\.state), now: now) {
        case .open: open(now: now)
        case .wait(let moment): wake(at: moment, now: now)
        case .none: break
        }
    }

    /// The work whose turn it is; drops those that have nothing to send.
    private func nextReady() -> Work? {
        while !ready.isEmpty {
            turn = turn < ready.count ? turn : 0
            let work = ready[turn]
            if work.ledger.waiting > 0 {
                turn += 1
                return work
            }
            work.isReady = false
            ready.swapAt(turn, ready.count - 1)
            ready.removeLast()
        }
        return nil
    }

    private func enqueue(_ work: Work) {
        guard !work.isReady, work.ledger.waiting > 0 else {
            return
        }
        work.isReady = true
        ready.append(work)
    }

    /// Sends up to `limit` pushes and returns how many left, or nil if the connection takes no more.
    private func send(
        _ work: Work,
        on connection: PooledConnection,
        atMost limit: Int,
        now: ContinuousClock.Instant
    ) -> Int? {
        var sent = 0
        defer {
            if sent > 0 {
                connection.state.sent(now: now)
            }
        }
        do {
            let (token, generation) = try tokens.token()
            let headers = try work.headers(authority: key.endpoint.authority, token: token, generation: generation)
            while sent < limit, let index = work.ledger.take() {
                let stream = try connection.submit(
                    tag: WorkTable.tag(work, index),
                    headers: headers,
                    pathSuffix: work.pathSuffix(index),
                    body: work.body
                )
                guard let stream else {
                    work.ledger.putBack(index)
                    return nil
                }
                let flight = BatchLedger.Flight(
                    stream: stream,
                    connection: connection.number,
                    tick: tick,
                    generation: generation
                )
                work.departed(index, flight, now: now)
                sent += 1
            }
            return sent
        } catch {
            // Nothing of this work can ever leave: the key does not sign, or a field cannot be written in HTTP/2.
            let outcome =
                error is HTTP2Error
                ? PushOutcome(.requestInvalid, detail: "\(error)")
                : PushOutcome(.credential, detail: "no provider token: \(error)")
            work.ledger.settleTaken(outcome)
            finishSoon(work)
            return sent
        }
    }

    private func finishIfComplete(_ work: Work) {
        if work.ledger.isComplete {
            finish(work)
        }
    }

    /// Finishes outside the present call, so that nobody is called back while the pool walks its lists.
    private func finishSoon(_ work: Work) {
        loop.schedule(after: .zero) { [weak self] in
            self?.finishIfComplete(work)
        }
    }

    private func finish(_ work: Work) {
        guard table.find(WorkTable.tag(work, 0))?.work === work else {
            return
        }
        table.remove(work)
        if let timer = work.deadlineTimer {
            loop.cancel(timer)
            work.deadlineTimer = nil
        }
        work.complete()
        changed()
    }

    /// Settles what is in flight for `age` ticks or more as unknown, and looks after connections that leave things open.
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

    // MARK: Answers

    func responded(_ connection: PooledConnection, tag: UInt64, response: HTTP2Response) {
        if connection.state.answered(status: response.status) {
            growth.proved()
            lastFailure = nil
        }
        guard let (work, index) = table.find(tag), let flight = work.ledger.flight(index) else {
            return
        }
        work.arrived(index, response)
        if response.status == 200 {
            work.ledger.accept(index)
        } else {
            judge(response, work, index, flight, connection)
        }
        finishIfComplete(work)
    }

    private func judge(
        _ response: HTTP2Response,
        _ work: Work,
        _ index: Int,
        _ flight: BatchLedger.Flight,
        _ connection: PooledConnection
    ) {
        let answer = APNSAnswer(
            work.head.kind,
            status: response.status,
            body: response.body,
            apnsID: response.fields["apns-id"] ?? response.fields["apns-request-id"],
            retryAfter: response.fields["retry-after"]
        )
        switch answer.advice {
        case .keep:
            break
        case .replace:
            retire(connection, because: answer.outcome.description)
        case .keepToken:
            tokens.tooManyTokens()
        case .renewToken:
            // Whatever comes of it, this connection knows only the old token.
            retire(connection, because: answer.outcome.description)
            // A key that does not sign is found when the next request is to leave.
            if (try? tokens.expired(generation: flight.generation)) == true {
                work.ledger.putBack(index)
                enqueue(work)
                return
            }
        }
        work.ledger.settle(index, answer.outcome)
        if answer.outcome.concernsWholeBatch {
            work.ledger.settleWaiting(
                PushOutcome(
                    answer.outcome.class,
                    reason: answer.outcome.reason,
                    detail: "not sent, because another push of its batch got this answer"
                )
            )
        }
    }

    func streamFailed(_ connection: PooledConnection, tag: UInt64, failure: HTTP2StreamFailure) {
        if failure == .refused {
            let pause = ContinuousClock.now + configuration.refusalPause
            connection.state.refused(open: connection.openStreams, until: pause)
            wake(at: pause, now: .now)
        }
        guard let (work, index) = table.find(tag) else {
            return
        }
        switch failure {
        case .refused, .notProcessed:
            work.ledger.putBack(index)
            enqueue(work)
        case .reset(let code):
            work.ledger.settle(index, PushOutcome(.unknown, detail: "the stream was reset with \(code)"))
        case .unusableResponse:
            work.ledger.settle(index, PushOutcome(.unknown, detail: "the answer was malformed or too large"))
        case .connectionLost:
            work.ledger.settle(index, PushOutcome(.unknown, detail: "the connection was lost"))
        }
        finishIfComplete(work)
    }

    // MARK: Connections

    private func open(now: ContinuousClock.Instant) {
        lastNumber = lastNumber == .max ? 1 : lastNumber + 1
        let connection = PooledConnection(number: lastNumber, pool: self, now: now)
        connections.append(connection)
        connection.connect(loop: loop, context: context, endpoint: key.endpoint, configuration: configuration)
        changed()
    }

    func connectionOpened(_ connection: PooledConnection) {
        logger.debug("connected to APNs", metadata: ["apns.connection": "\(connection.number)"])
        pump()
    }

    func goneAway(_ connection: PooledConnection, code: HTTP2ErrorCode, reason: String?) {
        retire(connection, because: "GOAWAY \(code)" + (reason.map { " \($0)" } ?? ""))
    }

    private func retire(_ connection: PooledConnection, because reason: String) {
        guard connection.state.phase != .draining else {
            return
        }
        logger.info(
            "APNs connection is replaced",
            metadata: ["apns.connection": "\(connection.number)", "apns.reason": "\(reason)"]
        )
        connection.retire()
    }

    func connectionClosed(_ connection: PooledConnection, error: HTTP2Error?) {
        connections.removeAll { $0 === connection }
        let neverCameUp = connection.state.phase == .connecting
        if !connection.state.hasAnswered {
            growth.failed(now: .now, chance: .random(in: 0...1))
        }
        if let error {
            lastFailure = neverCameUp ? error : lastFailure
            logger.warning(
                "APNs connection ended",
                metadata: ["apns.connection": "\(connection.number)", "error": "\(error)"]
            )
            if neverCameUp, connections.isEmpty, error.needsOperator {
                // No later attempt will go better within this deadline, so the callers learn at once.
                failWaiting(PushOutcome(.notSent, detail: "no connection: \(error)"))
            }
        }
        changed()
        pump()
    }

    private func failWaiting(_ outcome: PushOutcome) {
        for work in ready {
            work.ledger.settleWaiting(outcome)
            finishSoon(work)
        }
    }

    private func wake(at moment: ContinuousClock.Instant, now: ContinuousClock.Instant) {
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

    // MARK: Time

    /// Called eight times in a request's time while there is work: looks for requests without an answer.
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

    /// Called now and then: pings and closes what is idle. Whether any connection is left.
    func tidy(now: ContinuousClock.Instant) -> Bool {
        for connection in connections where connection.openStreams == 0 && connection.state.phase != .connecting {
            let isLast = connections.count { $0.state.phase != .draining } <= 1
            if growth.isSurplus(lastUse: connection.state.lastUse, isLast: isLast, now: now) {
                retire(connection, because: "idle")
            } else if connection.state.isPingDue(now: now, interval: configuration.pingInterval) {
                connection.ping(timeout: configuration.pingTimeout)
            }
        }
        return !connections.isEmpty
    }

    /// Closes all connections, once their open requests are over.
    func close() {
        for connection in connections {
            connection.retire()
        }
    }

    /// The works under way.
    var works: [Work] { Array(table.works) }
}

extension HTTP2Error {
    /// Whether trying again is useless until somebody has looked at certificates or hosts.
    fileprivate var needsOperator: Bool { code == .tls || code == .noHTTP2 }
}

extension PushOutcome {
    /// Answers to what all pushes of a batch have in common: the key, the topic, the other header fields, the body.
    fileprivate var concernsWholeBatch: Bool {
        switch `class` {
        case .credential: true
        case .requestInvalid: reason.map(Self.commonFaults.contains) ?? false
        default: false
        }
    }

    private static let commonFaults: Set<String> = [
        "BadTopic", "MissingTopic", "BadCollapseId", "BadPriority", "DuplicateHeaders", "BadExpirationDate",
        "InvalidPushType", "MissingPushType", "PayloadEmpty", "PayloadTooLarge", "MissingProviderToken",
        "MethodNotAllowed",
    ]
}
