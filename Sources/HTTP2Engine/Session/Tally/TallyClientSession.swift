import CNGHTTP2

/// The client session that Tally has written itself: RFC 9113 and RFC 7541 as far as a client of APNs needs them.
///
/// Bytes in, events out; calls in, bytes out. It copies prepared header blocks, where a general library encodes each
/// field of each request. ``NGHTTP2ClientSession`` is its judge: the same tests run with both.
///
/// Everything that it knows is one value in memory of its own (``TallyClientState``). So a call needs no checks for
/// exclusive access and counts no references, which once took a third of the time of a push.
@safe
final class TallyClientSession: ClientSession {
    /// Only calls from the owner use it, one at a time. ``ClientStreams`` are beside it, because the owner may call
    /// while it takes events.
    private let state: UnsafeMutablePointer<TallyClientState>
    private let streams: UnsafeMutablePointer<ClientStreams>

    /// Queues the connection preface and the client's SETTINGS.
    ///
    /// - `firstStream`: odd. A session with a high first number exhausts its stream numbers early.
    /// - `memory`: an allocator that counts, for tests.
    @safe init(
        maximumBody: Int,
        maximumHeaders: Int,
        firstStream: Int32 = 1,
        memory: UnsafeMutablePointer<nghttp2_mem>? = nil
    ) throws(HTTP2Error) {
        let decoder = unsafe try HeaderDecoder(memory: memory)
        unsafe streams = ClientStreams.make(maximumBody: maximumBody, maximumHeaders: maximumHeaders)
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: TallyClientState(streams: streams, decoder: decoder, firstStream: firstStream))
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
        unsafe streams.deinitialize(count: 1)
        unsafe streams.deallocate()
    }

    var maximumConcurrentStreams: Int { unsafe state.pointee.settings.maximumConcurrentStreams }

    var openStreams: Int { unsafe streams.pointee.open }

    var acceptsRequests: Bool { unsafe state.pointee.acceptsRequests }

    var hasUsedUpNumbers: Bool { unsafe state.pointee.hasUsedUpNumbers }

    var isFinished: Bool { unsafe state.pointee.isFinished }

    var violation: String? { unsafe streams.pointee.violation }

    var hasEvents: Bool { unsafe !streams.pointee.notes.isEmpty }

    func submit(_ request: OutgoingRequest, tag: UInt64, pathSuffix: Span<UInt8>) throws(HTTP2Error) -> Int32 {
        unsafe try state.pointee.submit(request, tag: tag, pathSuffix: pathSuffix)
    }

    func cancel(stream: Int32) {
        unsafe state.pointee.cancel(stream: stream)
    }

    func ping(_ number: UInt64) {
        unsafe state.pointee.control.appendPing(number, [])
    }

    func goAway() {
        unsafe state.pointee.goAway()
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        unsafe try state.pointee.receive(bytes)
    }

    func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
        unsafe state.pointee.nextOutput()
    }

    @discardableResult
    func takeEvents(responded: (UInt64, HTTP2Response) -> Void, _ body: (ClientEvent) -> Void) -> Bool {
        unsafe streams.takeEvents(responded: responded, body) { unsafe state.pointee.withdrawRequests() }
    }

    func failOpenStreams(lastWritten: Int32, _ body: (ClientEvent) -> Void) {
        unsafe streams.failOpenStreams(lastWritten: lastWritten, body)
    }

    /// Bytes that a peer can make the session keep, beside the responses.
    var keptBytes: Int { unsafe state.pointee.keptBytes }

    /// Bytes of responses that are kept for the owner, and the slots that hold them.
    var keptResponses: KeptResponses { unsafe KeptResponses(streams) }
}
