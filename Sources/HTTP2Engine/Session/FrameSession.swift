/// One end of an HTTP/2 connection without a socket: bytes in, events out; calls in, bytes out.
///
/// The owner calls ``receive(_:)``, handles the events, and takes bytes with ``nextOutput()`` until it returns `nil`. A
/// session never calls back on its own, waits, or reads a clock. It is not thread-safe.
protocol FrameSession: AnyObject {
    /// Takes decrypted bytes from the peer.
    ///
    /// - Throws: ``HTTP2Error`` if the connection cannot continue. The session answers smaller violations with GOAWAY.
    ///   Then it ``isFinished`` and has a ``violation``.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error)

    /// The next bytes for the peer; `nil` if there are no more now. Valid until the next call of any method.
    func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer?

    /// Whether nothing more is expected or queued. Then the connection may be closed after its output is sent.
    var isFinished: Bool { get }

    /// Whether there are events to take.
    var hasEvents: Bool { get }

    /// The peer's violation of the protocol, if any.
    var violation: String? { get }
}

/// The client end of a connection.
protocol ClientSession: FrameSession {
    /// How many concurrent streams the server allows; a guess before its first SETTINGS.
    var maximumConcurrentStreams: Int { get }
    /// Streams whose end has not been taken with ``takeEvents(_:)`` so far.
    var openStreams: Int { get }
    /// False after a GOAWAY in either direction: no more requests may be submitted.
    var acceptsRequests: Bool { get }
    /// Whether all stream numbers are used up.
    var hasUsedUpNumbers: Bool { get }

    /// Queues one request.
    ///
    /// - `tag`: returned with the stream's end.
    /// - Returns: The stream's number, larger than every earlier one.
    /// - Throws: ``HTTP2Error/Code/invalidRequest``; ``HTTP2Error/Code/lost`` if stream numbers are used up.
    func submit(_ request: OutgoingRequest, tag: UInt64, pathSuffix: Span<UInt8>) throws(HTTP2Error) -> Int32

    /// Queues RST_STREAM with CANCEL. The stream's end is not reported. Does nothing for an ended stream.
    func cancel(stream: Int32)

    /// Queues a PING. Its answer becomes an event with the same number.
    func ping(_ number: UInt64)

    /// Queues GOAWAY. Open streams may finish; then the session is finished.
    func goAway()

    /// Delivers the events since the last call, in order. Both closures may submit and cancel.
    ///
    /// - `responded`: receives the responses, with their tags.
    /// - Returns: Whether a stream has ended. This includes cancelled streams, whose end is not delivered.
    @discardableResult
    func takeEvents(responded: (UInt64, HTTP2Response) -> Void, _ body: (ClientEvent) -> Void) -> Bool

    /// Ends every open stream at once, oldest first, and delivers each as ``ClientEvent/failed(tag:failure:)``.
    ///
    /// - `lastWritten`: streams above this never left the machine.
    func failOpenStreams(lastWritten: Int32, _ body: (ClientEvent) -> Void)
}

/// The parts that a request shares with others. The path suffix and the tag are its own.
struct OutgoingRequest {
    let headers: SharedHeaders
    var extra: [HTTP2Header] = []
    let body: SharedBytes?

    var hasBody: Bool { body.map { $0.count > 0 } ?? false }
}

/// An event on the client, beside a response.
enum ClientEvent {
    case settings(maximumConcurrentStreams: Int)
    case goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8])
    case pong(UInt64)
    case failed(tag: UInt64, failure: HTTP2StreamFailure)
}
