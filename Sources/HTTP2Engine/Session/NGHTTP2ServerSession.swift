import CNGHTTP2

/// The server session on top of libnghttp2.
final class NGHTTP2ServerSession: FrameSession {
    let streams: ServerStreams
    private let session: NGHTTP2Session

    /// Queues the server's SETTINGS.
    ///
    /// - `memory`: an allocator that counts, for tests; `nil` is ``SmallBlocks``.
    @safe init(
        maximumConcurrentStreams: Int,
        maximumBody: Int,
        maximumHeaders: Int,
        memory: UnsafeMutablePointer<nghttp2_mem>? = nil
    ) throws(HTTP2Error) {
        streams = ServerStreams(maximumBody: maximumBody, maximumHeaders: maximumHeaders)
        session = unsafe try NGHTTP2Session(
            server: true,
            context: Unmanaged.passUnretained(streams).toOpaque(),
            memory: memory,
            setCallbacks: ServerCallbacks.set
        )
        let settings = [
            (Int(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), UInt32(clamping: maximumConcurrentStreams)),
            (Int(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), UInt32(clamping: maximumHeaders)),
        ]
        // The server reads everything at once, so the stream windows are the limit. The connection window only has to
        // be large enough.
        try session.start(settings, connectionWindow: 1 << 24)
    }

    /// Streams that the client opened and that have not ended.
    var openStreams: Int { streams.open }

    var isFinished: Bool { session.isFinished }

    var violation: String? { streams.violation }

    var hasEvents: Bool { !streams.ready.isEmpty }

    /// Queues a response; false if the stream has ended or was answered before.
    ///
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if a field is not allowed.
    func respond(
        stream: Int32,
        status: Int,
        fields: [HTTP2Header],
        body: SharedBytes?
    ) throws(HTTP2Error) -> Bool {
        guard let slot = unsafe StreamKey.slot(session.raw, stream), !streams.slots[slot].isAnswered else {
            return false
        }
        let result = unsafe try HeaderList.withResponse(status: status, fields: fields) { list in
            guard let body, body.count > 0 else {
                return unsafe nghttp2_submit_response(session.raw, stream, list.baseAddress, list.count, nil)
            }
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(ptr: StreamKey.pointer(slot)),
                read_callback: ServerCallbacks.readBody
            )
            return unsafe nghttp2_submit_response(session.raw, stream, list.baseAddress, list.count, &provider)
        }
        try session.check(result)
        streams.slots[slot].answer = body
        streams.slots[slot].isAnswered = true
        return true
    }

    /// Queues RST_STREAM. Does nothing for an ended stream.
    func reset(stream: Int32, code: HTTP2ErrorCode) {
        guard unsafe StreamKey.slot(session.raw, stream) != nil else { return }
        session.reset(stream: stream, code: code)
    }

    /// Queues GOAWAY. Streams above `lastStreamID` (`nil`: the last one seen) are closed without a response.
    func goAway(lastStreamID: Int32?, code: HTTP2ErrorCode, debugData: [UInt8]) {
        streams.isGoingAway = true
        let last = unsafe lastStreamID ?? nghttp2_session_get_last_proc_stream_id(session.raw)
        session.goAway(lastStreamID: last, code: code, debugData: debugData)
    }

    /// Queues SETTINGS with a new limit of concurrent streams.
    func setMaximumConcurrentStreams(_ limit: Int) {
        let entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
            value: UInt32(clamping: limit)
        )
        // It fails only if memory runs out.
        _ = unsafe nghttp2_submit_settings(session.raw, noFlags, [entry], 1)
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        try unsafe session.receive(bytes, openStreams: openStreams)
    }

    func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
        unsafe try session.nextOutput()
    }

    /// Delivers the requests that have become complete since the last call, in order.
    func takeRequests(_ body: (HTTP2Request) -> Void) {
        var index = 0
        while index < streams.ready.count {
            let (slot, stream) = streams.ready[index]
            // The client may have reset the stream in the meantime.
            if streams.slots[slot].stream == stream { body(streams.takeRequest(slot)) }
            index += 1
        }
        streams.ready.removeAll(keepingCapacity: true)
    }
}
