package import Reactor
import TLSEngine

/// One client's connection. It also has controls to imitate a faulty server. It belongs to a loop.
package final class HTTP2ServerConnection {
    package let loop: EventLoop
    /// Counts the connections of its server, from 1.
    package let number: UInt64
    private let session: NGHTTP2ServerSession
    private let wire: Wire
    private let makeHandler: (HTTP2ServerConnection) -> any HTTP2ServerHandler
    private let whenClosed: (HTTP2ServerConnection) -> Void
    private var handler: (any HTTP2ServerHandler)?
    private var handshakeTimer: TimerID?
    private var isUnwanted = false

    /// How long a client may take to close its side after the server's last byte.
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
        let session = try NGHTTP2ServerSession(
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

    /// Whether the connection has ended.
    var isClosed: Bool { wire.state == .closed }

    func start() {
        wire.start(delegate: self)
    }

    /// Requests from the client that are not finished.
    package var openStreams: Int { session.openStreams }

    /// Sends GOAWAY. Streams above `lastStreamID` get no response. The connection closes after the others are answered.
    ///
    /// - `lastStreamID`: `nil` means the last stream seen; it must not grow between calls.
    /// - `debugData`: at most 4096 bytes are sent.
    package func goAway(
        lastStreamID: Int32? = nil,
        code: HTTP2ErrorCode = .noError,
        debugData: [UInt8] = []
    ) {
        loop.preconditionOnLoop()
        session.goAway(lastStreamID: lastStreamID, code: code, debugData: debugData)
        wire.schedule()
    }

    /// Sends SETTINGS with a new limit. Until the client has read them, its surplus streams are refused.
    package func setMaximumConcurrentStreams(_ limit: Int) {
        loop.preconditionOnLoop()
        session.setMaximumConcurrentStreams(limit)
        wire.schedule()
    }

    /// Leaves all of the client's bytes in the kernel, so that the client meets full buffers. Even the end of the
    /// connection is not noticed.
    package func pauseReading() {
        loop.preconditionOnLoop()
        wire.setPaused(true)
    }

    /// Resumes reading.
    package func resumeReading() {
        loop.preconditionOnLoop()
        wire.setPaused(false)
    }

    /// Ends the connection by a TCP reset in the loop's next pass, without a GOAWAY.
    package func drop() {
        loop.preconditionOnLoop()
        isUnwanted = true
        wire.drop()
    }

    /// Sends GOAWAY, waits until the open requests are answered, then closes.
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
        // It is not an error if a client closes when everything is answered.
        let isExpected = error?.code == .lost && (isUnwanted || session.openStreams == 0)
        let reason = session.violation.map { HTTP2Error(.violation, $0) } ?? (isExpected ? nil : error)
        handler?.closed(self, error: reason)
        handler = nil
        whenClosed(self)
    }
}
