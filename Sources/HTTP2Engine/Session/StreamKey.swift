import CNGHTTP2

/// A slot's index in the form of the pointer that the library stores for a stream.
enum StreamKey {
    /// No code dereferences the pointer. 0 means "none", hence the offset.
    static func pointer(_ slot: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
    }

    static func slot(_ pointer: UnsafeMutableRawPointer?) -> Int? {
        unsafe pointer.map { Int(bitPattern: $0) - 1 }
    }

    /// The slot of a stream that has not ended.
    static func slot(_ session: OpaquePointer?, _ stream: Int32) -> Int? {
        guard let session = unsafe session else { return nil }
        return unsafe slot(nghttp2_session_get_stream_user_data(session, stream))
    }
}
