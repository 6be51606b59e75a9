import COpenSSL

/// The two queues between a TLS session and its socket, in the form of an OpenSSL BIO.
///
/// Writing never blocks, because the output grows. Reading requests a retry when the input is empty.
final class CipherBuffers {
    var input = ByteQueue()
    var output = ByteQueue()

    /// Creates the BIO for `SSL_set_bio`, which takes ownership of it. This object must outlive it.
    func makeBIO() -> OpaquePointer? {
        guard let method = unsafe BIOMethod.shared.pointer, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    /// Calls `body` with the buffers of a BIO; returns 0 (nothing done) if it has no buffers.
    fileprivate static func with(_ bio: OpaquePointer?, _ body: (CipherBuffers) -> Int32) -> Int32 {
        guard let bio = unsafe bio, let data = unsafe BIO_get_data(bio) else { return 0 }
        unsafe COpenSSL_BIO_clear_retry_flags(bio)
        return unsafe Unmanaged<CipherBuffers>.fromOpaque(data)._withUnsafeGuaranteedRef { body($0) }
    }
}

/// The function table of these BIOs; created once and never freed.
@safe
private struct BIOMethod: @unchecked Sendable {
    // Unchecked, but correct: only `init` writes it, and OpenSSL reads it afterwards.
    static let shared = BIOMethod()

    let pointer: OpaquePointer?

    private init() {
        unsafe pointer = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tally buffers")
        guard let pointer = unsafe pointer else { return }
        _ = unsafe BIO_meth_set_write(pointer) { bio, bytes, count in
            guard count > 0 else { return 0 }
            return unsafe CipherBuffers.with(bio) { buffers in
                unsafe buffers.output.append(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                return count
            }
        }
        _ = unsafe BIO_meth_set_read(pointer) { bio, bytes, count in
            guard count > 0 else { return 0 }
            return unsafe CipherBuffers.with(bio) { buffers in
                let target = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
                let moved = unsafe buffers.input.move(into: target)
                if moved > 0 { return Int32(moved) }
                unsafe COpenSSL_BIO_set_retry_read(bio)
                return -1
            }
        }
        _ = unsafe BIO_meth_set_ctrl(pointer) { _, command, _, _ in
            // A flush has nothing to do. OpenSSL handles the other commands as unsupported.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
    }
}
