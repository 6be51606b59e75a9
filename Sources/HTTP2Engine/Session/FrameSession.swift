/// One end of an HTTP/2 connection without a socket: bytes in, events out; calls in, bytes out.
///
/// The owner calls ``receive(_:)``, handles the events, and takes bytes with ``nextOutput()`` until there are none.
/// Nothing here calls back, waits, or knows the time. Not thread-safe.
protocol FrameSession: AnyObject {
    /// Takes what the peer sent, already decrypted.
    ///
    /// - Throws: ``HTTP2Error`` when the connection is beyond repair. What the peer broke politely is answered with
    ///   GOAWAY instead: the session then ``isFinished`` and has a ``violation``.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error)

    /// The next bytes for the peer, nil when there are none for now; valid until the next call of any method.
    func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer?

    /// Neither expects nor has anything more: the connection may be closed once its output is sent.
    var isFinished: Bool { get }

    /// Whether something has happened that was not handed out yet.
    var hasEvents: Bool { get }

    /// What the peer did against the protocol, if anything.
    var violation: String? { get }
}

/// A client's end.
protocol ClientSession: FrameSession {
    /// How many streams the server lets be open at once; before its first SETTINGS a guess.
    var maximumConcurrentStreams: Int { get }
    /// Streams whose end has not been taken with ``takeEvents(_:)`` yet.
    var openStreams: Int { get }
    /// False after a GOAWAY in either direction: nothing more may be submitted.
    var acceptsRequests: Bool { get }
    /// Whether no number is left for another stream.
    var hasUsedUpNumbers: Bool { get }

    /// Queues one request.
    ///
    /// - `tag`: comes back with the stream's end.
    /// - Returns: the stream's number, larger than every earlier one.
    /// - Throws: ``HTTP2Error/Code/invalidRequest``; ``HTTP2Error/Code/lost`` when stream numbers are used up.
    func submit(_ request: OutgoingRequest, tag: UInt64, pathSuffix: Span<UInt8>) throws(HTTP2Error) -> Int32

    /// Queues RST_STREAM with CANCEL; the stream's end is not reported. Does nothing for a stream that is over.
    func cancel(stream: Int32)

    /// Queues a PING; its answer is an event with the same number.
    func ping(_ number: UInt64)

    /// Queues GOAWAY: open streams go on, then the session is finished.
    func goAway()

    /// Hands out what happened since the last call, in order. `body` may submit and cancel.
    ///
    /// - Returns: whether a stream has ended, be it one that was cancelled, whose end is not handed out.
    @discardableResult
    func takeEvents(_ body: (ClientEvent) -> Void) -> Bool

    /// Ends every open stream at once, oldest first, and hands them out as ``ClientEvent/failed(tag:failure:)``.
    ///
    /// - `lastWritten`: streams above never left this machine.
    func failOpenStreams(lastWritten: Int32, _ body: (ClientEvent) -> Void)
}

/// What a request shares with others. The path's end and the tag are its own.
struct OutgoingRequest {
    let headers: SharedHeaders
    var extra: [HTTP2Header] = []
    let body: SharedBytes?

    var hasBody: Bool { body.map { $0.count > 0 } ?? false }
}

/// What happened at a client's end.
enum ClientEvent {
    case settings(maximumConcurrentStreams: Int)
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8])
    case pong(UInt64)
    case responded(tag: UInt64, HTTP2Response)
    case failed(tag: UInt64, failure: HTTP2StreamFailure)
}

/// A server's end.
protocol ServerSession: FrameSession {
    /// Streams that the client opened and that are not over.
    var openStreams: Int { get }

    /// Queues an answer; false when the stream is over or was answered before.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` when a field may not be sent.
    func respond(
        stream: Int32,
        status: Int,
        fields: [HTTP2Header],
        body: SharedBytes?
    ) throws(HTTP2Error) -> Bool

    /// Queues RST_STREAM. Does nothing for a stream that is over.
    func reset(stream: Int32, code: HTTP2ErrorCode)

    /// Queues GOAWAY; streams above `lastStreamID` (nil: the last one seen) are closed without an answer.
    func goAway(lastStreamID: Int32?, code: HTTP2ErrorCode, debugData: [UInt8])

    /// Queues SETTINGS with a new limit of concurrent streams.
    func setMaximumConcurrentStreams(_ limit: Int)

    /// Hands out the requests that became complete since the last call, in order.
    func takeRequests(_ body: (HTTP2Request) -> Void)
}
