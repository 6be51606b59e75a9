import CNGHTTP2

/// The client session on top of libnghttp2.
@safe
final class NGHTTP2ClientSession: ClientSession {
    private let streams: UnsafeMutablePointer<ClientStreams>
    private let session: NGHTTP2Session
    private var list = HeaderList()
    private var goAwaySent = false
    /// The last stream whose request was withdrawn from the queue.
    private var lastWithdrawn: Int32 = 0

    /// Queues the connection preface and the client's SETTINGS.
    ///
    /// - `firstStream`: odd. A session with a high first number exhausts its stream numbers early.
    /// - `memory`: an allocator that counts, for tests; `nil` is ``SmallBlocks``.
    @safe init(
        maximumBody: Int,
        maximumHeaders: Int,
        firstStream: Int32 = 1,
        memory: UnsafeMutablePointer<nghttp2_mem>? = nil
    ) throws(HTTP2Error) {
        let streams = unsafe ClientStreams.make(maximumBody: maximumBody, maximumHeaders: maximumHeaders)
        unsafe self.streams = streams
        session = unsafe try NGHTTP2Session(
            server: false,
            context: UnsafeMutableRawPointer(streams),
            memory: memory,
            setCallbacks: ClientCallbacks.set
        )
        let settings = [
            (Int(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), UInt32(0)),
            (Int(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), UInt32(clamping: maximumHeaders)),
        ]
        try session.start(settings, connectionWindow: 1 << 20)
        try session.check(unsafe nghttp2_session_set_next_stream_id(session.raw, firstStream))
    }

    deinit {
        unsafe streams.deinitialize(count: 1)
        unsafe streams.deallocate()
    }

    var maximumConcurrentStreams: Int {
        let limit = unsafe nghttp2_session_get_remote_settings(session.raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return Int(min(limit, UInt32(Int32.max)))
    }

    var openStreams: Int { unsafe streams.pointee.open }

    var acceptsRequests: Bool {
        guard !goAwaySent, unsafe streams.pointee.lastProcessed == .max else { return false }
        return unsafe nghttp2_session_check_request_allowed(session.raw) != 0
    }

    var hasUsedUpNumbers: Bool {
        unsafe nghttp2_session_get_next_stream_id(session.raw) > UInt32(Int32.max)
    }

    var isFinished: Bool { session.isFinished }

    var violation: String? { unsafe streams.pointee.violation }

    var hasEvents: Bool { unsafe !streams.pointee.notes.isEmpty }

    func submit(_ request: OutgoingRequest, tag: UInt64, pathSuffix: Span<UInt8>) throws(HTTP2Error) -> Int32 {
        let slot = unsafe streams.pointee.begin(tag: tag, headers: request.headers, body: request.body)
        do throws(HTTP2Error) {
            let stream: Int32
            if request.extra.isEmpty {
                let fields = unsafe try list.layOut(request.headers, pathSuffix: pathSuffix)
                stream = unsafe submit(fields, hasBody: request.hasBody, slot)
            } else {
                stream = unsafe try list.withRequest(
                    request.headers,
                    pathSuffix: pathSuffix,
                    extra: request.extra
                ) { fields in
                    unsafe submit(fields, hasBody: request.hasBody, slot)
                }
            }
            try session.check(stream)
            unsafe streams.pointee.slots[slot].stream = stream
            return stream
        } catch {
            unsafe streams.pointee.retire(slot)
            unsafe streams.pointee.recycle(slot)
            throw error
        }
    }

    private func submit(_ fields: UnsafeBufferPointer<nghttp2_nv>, hasBody: Bool, _ slot: Int) -> Int32 {
        let key = unsafe StreamKey.pointer(slot)
        guard hasBody else {
            return unsafe nghttp2_submit_request(session.raw, nil, fields.baseAddress, fields.count, nil, key)
        }
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: key),
            read_callback: ClientCallbacks.readBody
        )
        return unsafe nghttp2_submit_request(session.raw, nil, fields.baseAddress, fields.count, &provider, key)
    }

    func cancel(stream: Int32) {
        // The library knows a stream only after its request was serialized. Before that, the search may be long.
        guard let slot = unsafe StreamKey.slot(session.raw, stream) ?? streams.pointee.search(stream: stream) else {
            return
        }
        guard unsafe !streams.pointee.slots[slot].isCancelled else { return }
        unsafe streams.pointee.slots[slot].isCancelled = true
        session.reset(stream: stream, code: .cancel)
    }

    /// Withdraws requests that are submitted but not encoded. The library would keep them until there is room, possibly
    /// forever.
    private func withdrawQueued() {
        // A limit of 0 may arrive twice before the first withdrawal is reported.
        let first = unsafe max(streams.pointee.lastEncoded, lastWithdrawn)
        for slot in unsafe streams.pointee.slots.indices {
            let stream = unsafe streams.pointee.slots[slot].stream
            guard stream > first else { continue }
            lastWithdrawn = max(lastWithdrawn, stream)
            // A second reset of a queued request would be sent, and a server ends the connection for that.
            if unsafe !streams.pointee.slots[slot].isCancelled { session.reset(stream: stream, code: .cancel) }
            unsafe streams.pointee.notes.append(.notSent(slot: slot, stream: stream))
        }
    }

    func ping(_ number: UInt64) {
        let bytes = unsafe withUnsafeBytes(of: number.bigEndian) { unsafe Array($0) }
        // It fails only if memory runs out. Then the answer is missing, like a lost one.
        _ = unsafe nghttp2_submit_ping(session.raw, noFlags, bytes)
    }

    func goAway() {
        goAwaySent = true
        session.goAway(lastStreamID: 0, code: .noError, debugData: [])
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        try unsafe session.receive(bytes, openStreams: openStreams)
    }

    func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
        unsafe try session.nextOutput()
    }

    @discardableResult
    func takeEvents(responded: (UInt64, HTTP2Response) -> Void, _ body: (ClientEvent) -> Void) -> Bool {
        unsafe streams.takeEvents(responded: responded, body) { withdrawQueued() }
    }

    /// Bytes of responses that are kept for the owner, and the slots that hold them.
    var keptResponses: KeptResponses { unsafe KeptResponses(streams) }

    func failOpenStreams(lastWritten: Int32, _ body: (ClientEvent) -> Void) {
        unsafe streams.failOpenStreams(lastWritten: lastWritten, body)
    }
}
