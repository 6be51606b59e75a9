import CNGHTTP2

/// The callbacks that libnghttp2 calls on a server. They call the library only to look up a stream or set its user
/// data.
enum ServerCallbacks {
    static func set(_ callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, header)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, dataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameReceived)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frameSent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, invalidFrame)
    }

    /// Copies the next part of a response's body into the library's frame.
    static let readBody: nghttp2_data_source_read_callback = { _, _, target, capacity, flags, source, context in
        let target = unsafe UnsafeMutableBufferPointer(start: target, count: capacity)
        let key = unsafe source?.pointee.ptr
        let count = unsafe with(context) { streams in
            guard let slot = unsafe StreamKey.slot(key) else { return failure }
            let (count, isLast) = unsafe streams.readAnswer(slot, into: target)
            if isLast { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return Int32(count)
        }
        return Int(count)
    }

    private static let failure = Int32(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)

    /// Borrows the session's streams without reference counting, which would cost as much as the work itself.
    @inline(__always)
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (ServerStreams) -> Int32) -> Int32 {
        guard let context = unsafe context else { return failure }
        return unsafe Unmanaged<ServerStreams>.fromOpaque(context)._withUnsafeGuaranteedRef { body($0) }
    }

    /// Borrows them for a change that always succeeds.
    @inline(__always)
    private static func change(_ context: UnsafeMutableRawPointer?, _ body: (ServerStreams) -> Void) -> Int32 {
        unsafe with(context) { streams in
            body(streams)
            return 0
        }
    }

    private static let beginHeaders: nghttp2_on_begin_headers_callback = { session, frame, context in
        guard let frame = unsafe frame, unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
        let stream = unsafe frame.pointee.hd.stream_id
        return unsafe with(context) { streams in
            let slot = streams.begin(stream: stream)
            // It fails only for a stream that does not exist, and this one was just opened.
            return unsafe nghttp2_session_set_stream_user_data(session, stream, StreamKey.pointer(slot))
        }
    }

    private static let header: nghttp2_on_header_callback = {
        session,
        frame,
        name,
        nameCount,
        value,
        valueCount,
        _,
        context in
        guard let frame = unsafe frame, let slot = unsafe StreamKey.slot(session, frame.pointee.hd.stream_id) else {
            return 0
        }
        let name = unsafe UnsafeBufferPointer(start: name, count: nameCount)
        let value = unsafe UnsafeBufferPointer(start: value, count: valueCount)
        return unsafe with(context) { streams in
            // The library handles this error by resetting the stream.
            unsafe streams.header(slot, name, value) ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
    }

    private static let dataChunk: nghttp2_on_data_chunk_recv_callback = { session, _, stream, data, count, context in
        guard let slot = unsafe StreamKey.slot(session, stream) else { return 0 }
        let chunk = unsafe UnsafeBufferPointer(start: data, count: count)
        return unsafe change(context) { unsafe $0.data(slot, chunk) }
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, context in
        guard let frame = unsafe frame else { return 0 }
        let head = unsafe frame.pointee.hd
        let carriesEnd = UInt32(head.type) == NGHTTP2_HEADERS.rawValue || UInt32(head.type) == NGHTTP2_DATA.rawValue
        guard carriesEnd, UInt32(head.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
            let slot = unsafe StreamKey.slot(session, head.stream_id)
        else { return 0 }
        return unsafe change(context) { $0.makeReady(slot) }
    }

    private static let frameSent: nghttp2_on_frame_send_callback = { _, frame, context in
        guard let frame = unsafe frame else { return 0 }
        switch unsafe nghttp2_frame_type(rawValue: UInt32(frame.pointee.hd.type)) {
        case NGHTTP2_RST_STREAM:
            return unsafe change(context) { streams in
                // The fault concerned one stream, which has ended with it.
                if streams.lastFault != nil { streams.lastFault = nil }
            }
        case NGHTTP2_GOAWAY:
            // Unless the owner requested it, the library has given up the connection.
            let code = unsafe HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code)
            return unsafe change(context) { streams in
                guard code != .noError, streams.violation == nil, !streams.isGoingAway else { return }
                streams.violation = streams.lastFault ?? code.description
            }
        default: return 0
        }
    }

    private static let streamClosed: nghttp2_on_stream_close_callback = { session, stream, _, context in
        guard let slot = unsafe StreamKey.slot(session, stream) else { return 0 }
        return unsafe change(context) { $0.end(slot) }
    }

    private static let invalidFrame: nghttp2_on_invalid_frame_recv_callback = { _, frame, error, context in
        guard let frame = unsafe frame else { return 0 }
        let type = unsafe frame.pointee.hd.type
        let words = unsafe String(cString: nghttp2_strerror(error))
        return unsafe change(context) { $0.lastFault = "frame of type \(type): \(words)" }
    }
}
