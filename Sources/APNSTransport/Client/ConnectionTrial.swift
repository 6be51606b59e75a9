internal import HTTP2Engine
internal import Reactor
internal import TLSEngine

/// Connects once like a push would, then closes without a request. It belongs to the transport's loop.
final class ConnectionTrial: HTTP2ClientHandler {
    private let began = ContinuousClock.now
    private var connection: HTTP2ClientConnection?
    private var completion: ((ReachabilityOutcome) -> Void)?
    private let ended: (ConnectionTrial) -> Void

    /// Prepares a trial. `completion` is called once. `ended` is called last, when the connection no longer exists. The
    /// caller must retain the trial until then.
    init(
        completion: @escaping (ReachabilityOutcome) -> Void,
        ended: @escaping (ConnectionTrial) -> Void
    ) {
        self.completion = completion
        self.ended = ended
    }

    /// Begins the trial, which ends within `deadline`.
    func begin(
        loop: EventLoop,
        context: TLSContext,
        endpoint: APNSEndpoint,
        through proxy: APNSProxy?,
        deadline: Duration
    ) {
        var limits = HTTP2ClientConfiguration()
        limits.proxy = proxy?.proxy
        limits.connectTimeout = deadline
        let connection = endpoint.connection(on: loop, context: context, limits: limits, handler: self)
        self.connection = connection
        connection.connect()
    }

    /// Ends the trial early.
    func abandon() {
        connection?.drop(nil)
    }

    func connected(_ connection: HTTP2ClientConnection) {
        settle(.reached(began.duration(to: .now)))
        connection.close()
    }

    func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?) {
        settle(.failed(error?.obstacle ?? .other, detail: error.map { "\($0)" } ?? "given up"))
        self.connection = nil
        ended(self)
    }

    private func settle(_ outcome: ReachabilityOutcome) {
        completion?(outcome)
        completion = nil
    }

    // A trial sends no request, so these events never come or do not matter.
    func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response) {}
    func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure) {}
    func streamsFreed(_ connection: HTTP2ClientConnection) {}
    func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int) {}
    func goneAway(_ connection: HTTP2ClientConnection, lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8]) {}
    func exhausted(_ connection: HTTP2ClientConnection) {}
}

extension HTTP2Error {
    fileprivate var obstacle: ReachabilityOutcome.Obstacle {
        switch code {
        case .unreachable: .unreachable
        case .timedOut: .timedOut
        case .tls: .tls
        case .noHTTP2: .noHTTP2
        default: .other
        }
    }
}
