package import Reactor
package import TLSEngine

/// One connection to a server. It belongs to a loop: create, call and release it only there (`LoopBound` carries it
/// elsewhere).
///
/// It has no queue. It accepts a request only if the server's limit has room. Otherwise the caller keeps the request
/// and retries after ``HTTP2ClientHandler/streamsFreed(_:)``. Request deadlines are the caller's task too.
///
/// The loop keeps it alive from ``connect()`` until the handler receives `closed`.
package final class HTTP2ClientConnection {
    private enum State {
        case idle
        case connecting(Connector)
        /// The wait for the proxy's answer.
        case tunnelling(ProxyTunnel)
        /// The TLS handshake, then the wait for the server's first SETTINGS.
        case opening(Wire)
        case open(Wire)
        /// No new requests; open ones may finish.
        case closing(Wire)
        case closed
    }

    /// A PING that was sent and not answered so far.
    private struct OpenPing {
        let sent: ContinuousClock.Instant
        let timer: TimerID
        let completion: (Result<Duration, HTTP2Error>) -> Void
    }

    package let loop: EventLoop
    /// The host as the caller gave it.
    package let host: String
    package let port: UInt16
    private let context: TLSContext
    private let configuration: HTTP2ClientConfiguration
    private weak var handler: (any HTTP2ClientHandler)?
    private var state = State.idle
    private var session: (any ClientSession)?
    private var connectTimer: TimerID?
    private var closeTimer: TimerID?
    private var pings: [UInt64: OpenPing] = [:]
    private var lastPing: UInt64 = 0
    private var remainingRequests: Int
    private var lastSubmitted: Int32 = 0
    private var lastWritten: Int32 = 0
    private var goAwayCode: HTTP2ErrorCode?
    /// Whether the GOAWAY of this side was queued.
    private var hasSaidGoodbye = false
    /// False after a call of ``close()``. Then the end is not an error.
    private var isWanted = true
    /// The reason that ``drop(_:)`` was given.
    private var dropped: HTTP2Error??

    /// Prepares a connection, without any I/O before ``connect()``.
    ///
    /// - `host`: a name or a numeric address. The server's certificate must contain it.
    /// - `handler`: a weak reference.
    package init(
        loop: EventLoop,
        context: TLSContext,
        host: String,
        port: UInt16,
        configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(),
        handler: any HTTP2ClientHandler
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.context = context
        self.host = host
        self.port = port
        self.configuration = configuration
        remainingRequests = configuration.maximumRequests
        self.handler = handler
    }

    /// Begins to connect; call it once. The handler receives `connected` or `closed` later, never inside this call.
    package func connect() {
        loop.preconditionOnLoop()
        guard case .idle = state else { return }
        connectTimer = loop.schedule(after: configuration.connectTimeout) { [self] in
            connectTimer = nil
            drop(HTTP2Error(.timedOut, "no connection to \(host) in time"))
        }
        let connector = Connector(
            loop: loop,
            host: configuration.proxy?.host ?? host,
            port: configuration.proxy?.port ?? port,
            timeout: configuration.connectTimeout
        ) { [self] result in
            reached(result)
        }
        state = .connecting(connector)
    }

    // MARK: Requests

    /// Whether requests may be submitted, if there is room.
    package var isOpen: Bool {
        guard case .open(let wire) = state, !wire.isEnding, remainingRequests > 0, let session else { return false }
        return session.acceptsRequests
    }

    /// How many requests would be accepted now; 0 if the connection is not open. It may change at any time.
    package var availableStreams: Int {
        guard isOpen, let session else { return 0 }
        return max(0, min(remainingRequests, maximumConcurrentStreams - session.openStreams))
    }

    /// Requests that were accepted and are not finished.
    package var openStreams: Int { session?.openStreams ?? 0 }

    /// The server's latest limit, or the configured one if that is smaller.
    package var maximumConcurrentStreams: Int {
        min(session?.maximumConcurrentStreams ?? 0, configuration.maximumConcurrentStreams)
    }

    /// Lends a way to submit many requests that share everything but their paths, `headers.pathPrefix` and a suffix.
    /// What they share is looked up once. They are sent at the end of the loop's current pass.
    ///
    /// - `extra`: additional fields of these requests; they cost more than shared ones.
    /// - `body`: `nil` for none.
    package func withSubmissions(
        headers: SharedHeaders,
        extra: [HTTP2Header] = [],
        body: SharedBytes?,
        _ use: (inout HTTP2Submissions) throws(HTTP2Error) -> Void
    ) throws(HTTP2Error) {
        guard case .open(let wire) = state, !wire.isEnding, remainingRequests > 0, let session else { return }
        let room = min(remainingRequests, maximumConcurrentStreams - session.openStreams)
        let request = OutgoingRequest(headers: headers, extra: extra, body: body)
        var submissions = HTTP2Submissions(session: session, request: request, room: room)
        defer {
            if let last = submissions.last {
                lastSubmitted = last
                remainingRequests -= submissions.count
                wire.submitted(submissions.count)
            }
        }
        try use(&submissions)
    }

    /// Cancels a request (RST_STREAM with CANCEL), so its tag is never reported. Does nothing for a finished request.
    ///
    /// The server may have processed it. Its stream is free after the reset has been sent.
    package func cancel(_ stream: HTTP2StreamID) {
        session?.cancel(stream: stream.number)
        wire?.schedule()
    }

    /// Sends a PING. `completion` receives the round-trip time, or an error after `timeout` or at the end of the
    /// connection.
    ///
    /// A missing answer does not end the connection; the caller decides.
    package func ping(timeout: Duration, completion: @escaping (Result<Duration, HTTP2Error>) -> Void) {
        guard let wire, let session else { return fail(completion) }
        lastPing += 1
        let number = lastPing
        let timer = loop.schedule(after: timeout) { [self] in
            pings.removeValue(forKey: number)?.completion(.failure(HTTP2Error(.timedOut, "no answer to a ping")))
        }
        pings[number] = OpenPing(sent: .now, timer: timer, completion: completion)
        session.ping(number)
        wire.schedule()
    }

    // MARK: Closing

    /// Accepts no more requests, waits for the open ones (``HTTP2ClientConfiguration/closeTimeout``), then closes.
    package func close() {
        loop.preconditionOnLoop()
        isWanted = false
        guard case .open(let wire) = state else {
            if case .closing = state { return }
            return drop(nil)
        }
        state = .closing(wire)
        wire.schedule()
        closeTimer = loop.schedule(after: configuration.closeTimeout) { [self] in
            closeTimer = nil
            wire.end(nil)
        }
    }

    /// Closes at once. In the loop's next pass, open requests fail as ``HTTP2StreamFailure/connectionLost``; then
    /// `closed` follows.
    ///
    /// - `error`: the reason for the handler.
    package func drop(_ error: HTTP2Error?) {
        loop.preconditionOnLoop()
        switch state {
        case .closed: return
        case .opening(let wire), .open(let wire), .closing(let wire):
            if dropped == nil { dropped = .some(error) }
            wire.end(error)
        case .idle, .connecting, .tunnelling:
            if case .connecting(let connector) = state { connector.cancel() }
            if case .tunnelling(let tunnel) = state { tunnel.cancel() }
            state = .closed
            // The closure keeps this object alive until the handler has been called.
            loop.execute { [bound = LoopBound(self, to: loop)] in bound.value.finish(error) }
        }
    }

    private var wire: Wire? {
        switch state {
        case .opening(let wire), .open(let wire), .closing(let wire): wire
        case .idle, .connecting, .tunnelling, .closed: nil
        }
    }

    private func fail(_ completion: @escaping (Result<Duration, HTTP2Error>) -> Void) {
        loop.schedule(after: .zero) { completion(.failure(HTTP2Error(.lost, "not connected"))) }
    }

    private func reached(_ result: Result<Socket, ReactorError>) {
        guard case .connecting = state else { return }
        do throws(HTTP2Error) {
            let socket: Socket
            switch result {
            case .success(let connected): socket = connected
            case .failure(let error):
                let peer = configuration.proxy.map { "the proxy \($0)" } ?? host
                throw HTTP2Error(error.code == .timedOut ? .timedOut : .unreachable, peer, cause: error)
            }
            guard let proxy = configuration.proxy else { return try open(socket) }
            let tunnel = try ProxyTunnel(loop: loop, socket: socket, through: proxy, to: host, port: port) {
                [self] result in
                tunnelled(result)
            }
            state = .tunnelling(tunnel)
        } catch {
            state = .closed
            finish(error)
        }
    }

    private func tunnelled(_ result: Result<Socket, HTTP2Error>) {
        guard case .tunnelling = state else { return }
        do throws(HTTP2Error) {
            try open(try result.get())
        } catch {
            state = .closed
            finish(error)
        }
    }

    private func open(_ socket: Socket) throws(HTTP2Error) {
        let session = try FrameSessions.client(
            configuration.implementation,
            maximumBody: configuration.maximumResponseBody,
            maximumHeaders: configuration.maximumResponseHeaders
        )
        let wire = try Wire(loop: loop, socket: socket, tls: makeTLS(), session: session, lingerTime: nil)
        self.session = session
        state = .opening(wire)
        wire.start(delegate: self)
    }

    private func makeTLS() throws(HTTP2Error) -> TLSSession {
        do {
            return try TLSSession(client: context, host: host)
        } catch {
            throw HTTP2Error(.tls, host, cause: error)
        }
    }

    private func finish(_ error: HTTP2Error?) {
        if let connectTimer { loop.cancel(connectTimer) }
        if let closeTimer { loop.cancel(closeTimer) }
        state = .closed
        session?.failOpenStreams(lastWritten: lastWritten) { event in
            if case .failed(let tag, let failure) = event { handler?.streamFailed(self, tag: tag, failure: failure) }
        }
        session = nil
        let unanswered = pings.values
        pings = [:]
        for ping in unanswered {
            loop.cancel(ping.timer)
            ping.completion(.failure(HTTP2Error(.lost, "the connection ended")))
        }
        handler?.closed(self, error: error)
    }
}

extension HTTP2ClientConnection: WireDelegate {
    func wireOpened() {}

    func wireMoved() {
        guard let session else { return }
        if session.hasEvents { handOut(session) }
        // Not before the last response: some servers treat the client's GOAWAY as the end of everything.
        if case .closing = state, session.openStreams == 0, !hasSaidGoodbye {
            hasSaidGoodbye = true
            session.goAway()
        }
        // Stream numbers cannot be reused (RFC 9113 §5.1.1).
        if case .open = state, goAwayCode == nil, remainingRequests == 0 || session.hasUsedUpNumbers {
            close()
            handler?.exhausted(self)
        }
    }

    private func handOut(_ session: any ClientSession) {
        // Loaded once, because loading a weak reference costs more than the rest of an event.
        let handler = handler
        let freed = session.takeEvents { tag, response in
            handler?.responded(self, tag: tag, response: response)
        } _: { event in
            switch event {
            case .failed(let tag, let failure):
                handler?.streamFailed(self, tag: tag, failure: failure)
            case .settings(let limit): settingsReceived(limit)
            case .goAway(let last, let code, let data):
                goAwayCode = code
                handler?.goneAway(self, lastStreamID: last, code: code, debugData: data)
            case .pong(let number):
                guard let ping = pings.removeValue(forKey: number) else { break }
                loop.cancel(ping.timer)
                ping.completion(.success(ping.sent.duration(to: .now)))
            }
        }
        if freed { handler?.streamsFreed(self) }
    }

    func wireWrote() {
        lastWritten = lastSubmitted
    }

    func wireClosed(_ error: HTTP2Error?) {
        finish(dropped ?? reason(error))
    }

    private func settingsReceived(_ limit: Int) {
        if case .opening(let wire) = state {
            state = .open(wire)
            if let connectTimer { loop.cancel(connectTimer) }
            connectTimer = nil
            handler?.connected(self)
        }
        handler?.settingsChanged(self, maximumConcurrentStreams: min(limit, configuration.maximumConcurrentStreams))
    }

    /// The most helpful reason for the end of the connection.
    private func reason(_ error: HTTP2Error?) -> HTTP2Error? {
        if let violation = session?.violation { return HTTP2Error(.violation, violation) }
        if let goAwayCode {
            guard goAwayCode == .noError else { return HTTP2Error(.goAway, goAwayCode.description, cause: error) }
            // The announced end. Requests that were still open have been reported one by one.
            return error?.code == .lost ? nil : error
        }
        if isWanted, error == nil { return HTTP2Error(.lost, "the connection ended") }
        return isWanted ? error : (error?.code == .lost ? nil : error)
    }
}
