internal import HTTP2Engine
internal import Reactor
internal import TLSEngine

/// One connection of a pool, and its handler. Belongs to the transport's loop.
final class PooledConnection: HTTP2ClientHandler {
    /// Its number in the pool, from 1.
    let number: UInt16
    var state: ConnectionStateMachine
    private unowned let pool: ConnectionPool
    private var connection: HTTP2ClientConnection?
    /// Why it accepts no more requests; `nil` while it does.
    private(set) var retirementCause: RetirementCause?

    init(number: UInt16, pool: ConnectionPool, now: ContinuousClock.Instant) {
        self.number = number
        self.pool = pool
        state = ConnectionStateMachine(now: now)
    }

    /// Begins to connect. Each connection repeats the name lookup.
    func connect(loop: EventLoop, context: TLSContext, endpoint: APNSEndpoint, configuration: APNSClientConfiguration) {
        var limits = HTTP2ClientConfiguration()
        limits.implementation = configuration.http2
        limits.proxy = configuration.proxy?.proxy
        limits.connectTimeout = configuration.connectTimeout
        limits.closeTimeout = configuration.requestTimeout
        limits.maximumRequests = configuration.maximumRequestsPerConnection
        // A list of 10,000 channel ids of the known lengths has 300 KB.
        limits.maximumResponseBody = 4 * 1024 * 1024
        let connection = endpoint.connection(on: loop, context: context, limits: limits, handler: self)
        self.connection = connection
        connection.connect()
    }

    /// The number of open requests.
    var openStreams: Int { connection?.openStreams ?? 0 }

    /// How many more requests it accepts now.
    func room(now: ContinuousClock.Instant) -> Int {
        guard let connection else {
            return 0
        }
        return state.room(open: connection.openStreams, available: connection.availableStreams, now: now)
    }

    /// How many concurrent requests it adds to the pool.
    func capacity(now: ContinuousClock.Instant) -> Int {
        guard let connection, connection.isOpen else {
            return 0
        }
        return state.capacity(maximum: connection.maximumConcurrentStreams, now: now)
    }

    /// Lends a way to send requests that share everything but their paths.
    func withSubmissions(
        headers: SharedHeaders,
        body: SharedBytes?,
        _ use: (inout HTTP2Submissions) throws(HTTP2Error) -> Void
    ) throws(HTTP2Error) {
        try connection?.withSubmissions(headers: headers, body: body, use)
    }

    /// Gives up on a request.
    func cancel(_ stream: HTTP2StreamID) {
        connection?.cancel(stream)
    }

    /// Accepts no more requests and closes after the open ones. False if it was already retired.
    func retire(because cause: RetirementCause) -> Bool {
        guard state.retire() else {
            return false
        }
        retirementCause = cause
        connection?.close()
        return true
    }

    /// Sends a PING and drops the connection if no answer comes.
    func ping(timeout: Duration) {
        connection?.ping(timeout: timeout) { [weak self] result in
            guard let self else {
                return
            }
            switch result {
            case .success:
                state.isAlive(now: .now)
                pool.pump()
            case .failure(let error):
                connection?.drop(error)
            }
        }
    }

    func connected(_ connection: HTTP2ClientConnection) {
        state.connected(now: .now)
        pool.connectionOpened(self)
    }

    func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response) {
        pool.responded(self, tag: tag, response: response)
    }

    func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure) {
        pool.streamFailed(self, tag: tag, failure: failure)
    }

    func streamsFreed(_ connection: HTTP2ClientConnection) {
        pool.streamsFreed()
    }

    func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int) {
        pool.pump()
    }

    func goneAway(_ connection: HTTP2ClientConnection, lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8]) {
        pool.retire(self, because: RetirementCause(goAway: code, debugData: debugData))
    }

    func exhausted(_ connection: HTTP2ClientConnection) {
        pool.retire(self, because: .exhausted)
    }

    func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?) {
        self.connection = nil
        pool.connectionClosed(self, error: error)
    }
}
