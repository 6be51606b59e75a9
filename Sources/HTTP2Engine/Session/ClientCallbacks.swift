import CNGHTTP2

/// The callbacks that libnghttp2 calls on a client. They call the library only to look up or reset a stream.
enum ClientCallbacks {
    static func set(_ callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, header)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, dataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameReceived)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frameSent)
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frameNotSent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, invalidFrame)
    }

    /// Copies the next part of a request's body into the library's frame.
    static let readBody: nghttp2_data_source_read_callback = { _, _, target, capacity, flags, source, context in
        let target = unsafe UnsafeMutableBufferPointer(start: target, count: capacity)
        let key = unsafe source?.pointee.ptr
        let count = unsafe with(context) { streams in
            guard let slot = unsafe StreamKey.slot(key) else { return failure }
            let (count, isLast) = unsafe streams.slots[slot].readBody(into: target)
            if isLast { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return Int32(count)
        }
        return Int(count)
    }

    private static let failure = Int32(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)

    /// Lends the session's streams.
    @inline(__always)
    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (inout ClientStreams) -> Int32) -> Int32 {
        guard let context = unsafe context else { return failure }
        return unsafe body(&context.assumingMemoryBound(to: ClientStreams.self).pointee)
    }

    /// Lends them for a change that always succeeds.
    @inline(__always)
    private static func change(_ context: UnsafeMutableRawPointer?, _ body: (inout ClientStreams) -> Void) -> Int32 {
        unsafe with(context) { streams in
            body(&streams)
            return 0
        }
    }

    private static let beginHeaders: nghttp2_on_begin_headers_callback = { session, frame, context in
        guard let frame = unsafe frame, let slot = unsafe StreamKey.slot(session, frame.pointee.hd.stream_id) else {
            return 0
        }
        return unsafe change(context) { $0.slots[slot].headersBegin() }
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
            let fits = unsafe streams.slots[slot].header(name, value, limit: streams.maximumHeaders)
            return fits ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
    }

    private static let dataChunk: nghttp2_on_data_chunk_recv_callback = { session, _, stream, data, count, context in
        guard let slot = unsafe StreamKey.slot(session, stream) else { return 0 }
        let chunk = unsafe UnsafeBufferPointer(start: data, count: count)
        return unsafe with(context) { streams in
            let fits = unsafe streams.slots[slot].data(chunk, limit: streams.maximumBody)
            if fits { return 0 }
            // This only queues the reset. Unlike sending and receiving, that is allowed inside a callback.
            return unsafe nghttp2_submit_rst_stream(session, noFlags, stream, HTTP2ErrorCode.cancel.rawValue)
        }
    }

    private static let frameReceived: nghttp2_on_frame_recv_callback = { session, frame, context in
        guard let session = unsafe session, let frame = unsafe frame else { return 0 }
        let head = unsafe frame.pointee.hd
        let flags = UInt32(head.flags)
        return unsafe with(context) { streams in
            switch nghttp2_frame_type(rawValue: UInt32(head.type)) {
            case NGHTTP2_HEADERS, NGHTTP2_DATA:
                guard flags & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { break }
                if let slot = unsafe StreamKey.slot(session, head.stream_id) {
                    streams.slots[slot].hasEnded = true
                }
            case NGHTTP2_SETTINGS where flags & NGHTTP2_FLAG_ACK.rawValue == 0:
                let limit = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
                streams.notes.append(.settings(Int(min(limit, UInt32(Int32.max)))))
            case NGHTTP2_PING where flags & NGHTTP2_FLAG_ACK.rawValue != 0:
                let number = unsafe withUnsafeBytes(of: frame.pointee.ping.opaque_data) { bytes in
                    unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
                }
                streams.notes.append(.pong(number))
            case NGHTTP2_GOAWAY:
                let goAway = unsafe frame.pointee.goaway
                let data = unsafe UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
                // The library closes streams above this right after the call.
                streams.lastProcessed = unsafe min(streams.lastProcessed, goAway.last_stream_id)
                unsafe streams.notes.append(.goAway(goAway.last_stream_id, goAway.error_code, Array(data)))
            default: break
            }
            return 0
        }
    }

    private static let frameSent: nghttp2_on_frame_send_callback = { _, frame, context in
        guard let frame = unsafe frame else { return 0 }
        switch unsafe nghttp2_frame_type(rawValue: UInt32(frame.pointee.hd.type)) {
        case NGHTTP2_HEADERS:
            let stream = unsafe frame.pointee.hd.stream_id
            return unsafe change(context) { $0.lastEncoded = stream }
        case NGHTTP2_RST_STREAM:
            return unsafe change(context) { streams in
                // The fault concerned one stream, which has ended with it.
                if streams.lastFault != nil { streams.lastFault = nil }
            }
        case NGHTTP2_GOAWAY:
            // Tally never sends an error code, so this one means that the library has given up the connection.
            let code = unsafe HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code)
            return unsafe change(context) { streams in
                guard code != .noError, streams.violation == nil else { return }
                streams.violation = streams.lastFault ?? code.description
            }
        default: return 0
        }
    }

    private static let frameNotSent: nghttp2_on_frame_not_send_callback = { _, frame, _, context in
        guard let frame = unsafe frame, unsafe frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) else {
            return 0
        }
        let stream = unsafe frame.pointee.hd.stream_id
        return unsafe change(context) { streams in
            // A request that was queued when the server went away. The search may be long, but it is rare.
            guard let slot = streams.search(stream: stream) else { return }
            streams.notes.append(.notSent(slot: slot, stream: stream))
        }
    }

    private static let streamClosed: nghttp2_on_stream_close_callback = { session, stream, code, context in
        guard let slot = unsafe StreamKey.slot(session, stream) else { return 0 }
        return unsafe change(context) { $0.notes.append(.closed(slot: slot, stream: stream, code: code)) }
    }

    private static let invalidFrame: nghttp2_on_invalid_frame_recv_callback = { _, frame, error, context in
        guard let frame = unsafe frame else { return 0 }
        let type = unsafe frame.pointee.hd.type
        let words = unsafe String(cString: nghttp2_strerror(error))
        return unsafe change(context) { $0.lastFault = "frame of type \(type): \(words)" }
    }
}
