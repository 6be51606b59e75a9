package import Reactor
import TLSEngine

/// One client's connection, with the controls that a faulty server would not have on purpose. Belongs to a loop.
package final class HTTP2ServerConnection {
    package let loop: EventLoop
    /// Counts the connections of its server from 1.
    package let number: UInt64
    private let session: any ServerSession
    private let wire: Wire
    private let makeHandler: (HTTP2ServerConnection) -> any HTTP2ServerHandler
    private let whenClosed: (HTTP2ServerConnection) -> Void
    private var handler: (any HTTP2ServerHandler)?
    private var handshakeTimer: TimerID?
    private var isUnwanted = false

    /// How long a client may take to close its side after our last byte.
    private static let lingerTime: Duration = .seconds(2)

    init(
        loop: EventLoop,
        number: UInt64,
        socket: Socket,
        tls: TLSSession,
        configuration: HTTP2ServerConfiguration,
        makeHandler: @escaping (HTTP2ServerConnection) -> any HTTP2ServerHandler,
        whenClosed: @escaping (HTTP2ServerConnection) -> Void
    ) throws(HTTP2Error) {
        self.loop = loop
        self.number = number
        self.makeHandler = makeHandler
        self.whenClosed = whenClosed
        let session = try FrameSessions.server(
            maximumConcurrentStreams: configuration.maximumConcurrentStreams,
            maximumBody: configuration.maximumRequestBody,
            maximumHeaders: configuration.maximumRequestHeaders
        )
        self.session = session
        wire = Wire(loop: loop, socket: socket, tls: tls, session: session, lingerTime: Self.lingerTime)
        handshakeTimer = loop.schedule(after: configuration.handshakeTimeout) { [wire] in
            wire.end(HTTP2Error(.timedOut, "no TLS handshake in time"))
        }
    }

    /// Whether it is over.
    var isClosed: Bool { wire.state == .closed }

    func start() {
        wire.start(delegate: self)
    }

    /// Requests that were opened by the client and are not over.
    package var openStreams: Int { session.openStreams }

    /// Sends GOAWAY; streams above `lastStreamID` get no answer. When the others are answered, the connection closes.
    ///
    /// - `lastStreamID`: nil means every stream that was seen; must not grow from one call to the next.
    /// - `debugData`: up to 4096 bytes are sent.
    package func goAway(
        lastStreamID: Int32? = nil,
        code: HTTP2ErrorCode = .noError,
        debugData: [UInt8] = []
    ) {
        loop.preconditionOnLoop()
        session.goAway(lastStreamID: lastStreamID, code: code, debugData: debugData)
        wire.schedule()
    }

    /// Sends SETTINGS with a new limit. A client that has not read them yet has its surplus streams refused.
    package func setMaximumConcurrentStreams(_ limit: Int) {
        loop.preconditionOnLoop()
        session.setMaximumConcurrentStreams(limit)
        wire.schedule()
    }

    /// Leaves everything that the client sends in the kernel, so that it runs into full buffers; not even its end is
    /// seen.
    package func pauseReading() {
        loop.preconditionOnLoop()
        wire.setPaused(true)
    }

    /// Reads again.
    package func resumeReading() {
        loop.preconditionOnLoop()
        wire.setPaused(false)
    }

    /// Ends the connection by a TCP reset in the loop's next pass, without a word.
    package func drop() {
        loop.preconditionOnLoop()
        isUnwanted = true
        wire.drop()
    }

    /// Sends GOAWAY, lets the open requests be answered, then closes.
    package func close() {
        isUnwanted = true
        goAway()
    }

    func respond(
        stream: Int32,
        status: Int,
        fields: [HTTP2Header],
        body: SharedBytes?
    ) throws(HTTP2Error) -> Bool {
        loop.preconditionOnLoop()
        guard wire.state == .open else { return false }
        let isAnswered = try session.respond(stream: stream, status: status, fields: fields, body: body)
        wire.schedule()
        return isAnswered
    }

    func reset(stream: Int32, code: HTTP2ErrorCode) {
        loop.preconditionOnLoop()
        session.reset(stream: stream, code: code)
        wire.schedule()
    }
}

extension HTTP2ServerConnection: WireDelegate {
    func wireOpened() {
        if let handshakeTimer { loop.cancel(handshakeTimer) }
        handshakeTimer = nil
        handler = makeHandler(self)
    }

    func wireMoved() {
        session.takeRequests { request in
            handler?.received(request, responder: HTTP2Responder(streamID: request.streamID, connection: self))
        }
    }

    func wireWrote() {}

    func wireClosed(_ error: HTTP2Error?) {
        if let handshakeTimer { loop.cancel(handshakeTimer) }
        // A client that goes when everything is answered has done nothing wrong.
        let isExpected = error?.code == .lost && (isUnwanted || session.openStreams == 0)
        let reason = session.violation.map { HTTP2Error(.violation, $0) } ?? (isExpected ? nil : error)
        handler?.closed(self, error: reason)
        handler = nil
        whenClosed(self)
    }
}
