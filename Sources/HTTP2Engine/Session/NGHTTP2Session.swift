import CNGHTTP2

/// Owns one `nghttp2_session` and moves bytes through it. The client and the server session share it.
@safe
final class NGHTTP2Session {
    let raw: OpaquePointer
    /// The library's allocator, unless the caller gave another.
    private let blocks = SmallBlocks()

    /// Creates a session whose callbacks receive `context`, which must outlive it.
    ///
    /// - `memory`: an allocator that counts, for tests; `nil` is ``SmallBlocks``.
    /// - `setCallbacks`: installs the callbacks of this end.
    init(
        server isServer: Bool,
        context: UnsafeMutableRawPointer,
        memory: UnsafeMutablePointer<nghttp2_mem>?,
        setCallbacks: (OpaquePointer) -> Void
    ) throws(HTTP2Error) {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            throw Self.outOfMemory
        }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        guard unsafe nghttp2_option_new(&options) == 0, let options = unsafe options else { throw Self.outOfMemory }
        defer { unsafe nghttp2_option_del(options) }
        unsafe setCallbacks(callbacks)
        // A server keeps closed streams, at most as many as may be open. It detects a client that still sends on one
        // (RFC 9113 §5.1). A client would need them only for priorities, which are deprecated (RFC 9113 §5.3).
        if !isServer { unsafe nghttp2_option_set_no_closed_streams(options, 1) }
        // A peer that pings or changes settings and never reads the answers must not fill the memory.
        unsafe nghttp2_option_set_max_outbound_ack(options, 1000)
        // SETTINGS forbid server push. A push that arrives before the peer has read them is refused (RFC 9113 §8.4).
        unsafe nghttp2_option_set_max_reserved_remote_streams(options, 0)
        // Limits how fast a peer may open and reset streams (CVE-2023-44487): 1000 at once, then 33 per second.
        unsafe nghttp2_option_set_stream_reset_rate_limit(options, 1000, 33)
        var raw: OpaquePointer?
        let make = unsafe isServer ? nghttp2_session_server_new3 : nghttp2_session_client_new3
        let result = unsafe blocks.withAllocator { own in
            unsafe make(&raw, callbacks, context, options, memory ?? own)
        }
        guard result == 0, let raw = unsafe raw else { throw Self.outOfMemory }
        unsafe self.raw = raw
    }

    deinit {
        unsafe nghttp2_session_del(raw)
    }

    private static let outOfMemory = HTTP2Error(.violation, "no memory for an HTTP/2 session")

    /// Queues the first SETTINGS, and a larger window for the whole connection than the protocol's 64 KiB.
    func start(_ settings: [(Int, UInt32)], connectionWindow: Int32) throws(HTTP2Error) {
        let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.0), value: $0.1) }
        try check(unsafe nghttp2_submit_settings(raw, noFlags, entries, entries.count))
        try check(unsafe nghttp2_session_set_local_window_size(raw, noFlags, 0, connectionWindow))
    }

    /// The maximum number of frames that wait for a peer that does not read, in addition to those of open streams.
    private static let maximumWaitingFrames = 5000

    /// Takes bytes from the peer.
    ///
    /// - `openStreams`: how many streams may have waiting frames.
    /// - Throws: ``HTTP2Error/Code/flooded`` if the peer causes more answers than it reads. The library limits only
    ///   acknowledgements. A peer that opens streams to have them refused would fill the memory with resets.
    func receive(_ bytes: UnsafeRawBufferPointer, openStreams: Int) throws(HTTP2Error) {
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let taken = unsafe nghttp2_session_mem_recv(raw, start, bytes.count)
        if taken < 0 { throw Self.error(Int32(taken)) }
        // Each open stream may have a waiting head and a waiting reset.
        guard unsafe nghttp2_session_get_outbound_queue_size(raw) <= Self.maximumWaitingFrames + 2 * openStreams else {
            throw HTTP2Error(.flooded, "the peer provokes more frames than it reads")
        }
    }

    func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(raw, &start)
        if count < 0 { throw Self.error(Int32(count)) }
        return count == 0 ? nil : unsafe UnsafeRawBufferPointer(start: start, count: count)
    }

    var isFinished: Bool {
        unsafe nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0
    }

    func reset(stream: Int32, code: HTTP2ErrorCode) {
        // It fails only if memory runs out, or for a stream that never existed.
        _ = unsafe nghttp2_submit_rst_stream(raw, noFlags, stream, code.rawValue)
    }

    func goAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8]) {
        // It fails only for debug data larger than a frame, which is cut here, or for a last stream above an earlier
        // one.
        let data = debugData.prefix(4096)
        unsafe data.withUnsafeBufferPointer { data in
            _ = unsafe nghttp2_submit_goaway(raw, noFlags, lastStreamID, code.rawValue, data.baseAddress, data.count)
        }
    }

    func check(_ result: Int32) throws(HTTP2Error) {
        if result < 0 { throw Self.error(result) }
    }

    static func error(_ result: Int32) -> HTTP2Error {
        let words = unsafe String(cString: nghttp2_strerror(result))
        switch nghttp2_error(rawValue: result) {
        case NGHTTP2_ERR_FLOODED: return HTTP2Error(.flooded, words)
        case NGHTTP2_ERR_INVALID_ARGUMENT: return HTTP2Error(.invalidRequest, words)
        case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE: return HTTP2Error(.lost, words)
        default: return HTTP2Error(.violation, words)
        }
    }
}

/// `NGHTTP2_FLAG_NONE` in the type of the functions' parameters.
let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
