import COpenSSL

/// One TLS connection without a socket. It converts ciphertext to plaintext and back.
///
/// The owner moves the bytes. It passes received bytes to ``feed(_:)``, makes a step, sends ``output`` and reports
/// ``consumeOutput(_:)``. It is not thread-safe. Every step may add output; a failed step adds an alert.
@safe
package final class TLSSession {
    private let ssl: OpaquePointer
    private let buffers = CipherBuffers()
    private let context: TLSContext
    private let host: String?
    /// Bytes that reading has added to the output, as replies to the peer, since the output was last empty.
    private var provoked = 0
    /// About 600 replies to key updates. OpenSSL would reply without limit to a peer that never reads.
    private static let maximumProvoked = 16 * 1024

    /// Creates a client's session.
    ///
    /// - `host`: the name or numeric address that the server's certificate must contain.
    /// - Throws: ``TLSError/Code/outOfMemory``, or ``TLSError/Code/failed`` if `host` is not a valid host name.
    package convenience init(client context: TLSContext, host: String) throws(TLSError) {
        precondition(context.role == .client, "a server's context cannot open connections")
        try self.init(context, host: host)
        try expect(host)
        unsafe SSL_set_connect_state(ssl)
    }

    /// Creates a server's session.
    package convenience init(server context: TLSContext) throws(TLSError) {
        precondition(context.role == .server, "a client's context cannot accept connections")
        try self.init(context, host: nil)
        unsafe SSL_set_accept_state(ssl)
    }

    private init(_ context: TLSContext, host: String?) throws(TLSError) {
        let ssl = unsafe try context.makeSSL()
        self.context = context
        self.host = host
        unsafe self.ssl = ssl
        guard let bio = unsafe buffers.makeBIO() else { throw TLSError(.outOfMemory, draining: "buffers") }
        // One BIO for both directions: OpenSSL takes the only reference.
        unsafe SSL_set_bio(ssl, bio, bio)
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    /// Adds bytes from the peer. Then call ``handshake()`` or ``read(into:)`` until the result is `wantsMore`.
    package func feed(_ ciphertext: UnsafeRawBufferPointer) {
        unsafe buffers.input.append(ciphertext)
    }

    /// The bytes to send to the peer; valid until the next call of any method.
    package var output: UnsafeRawBufferPointer { unsafe buffers.output.readable }

    /// The number of bytes to send.
    package var outputCount: Int { buffers.output.count }

    /// Bytes between the session and its socket, in both directions.
    var heldBytes: Int { buffers.input.count + buffers.output.count }

    /// Removes the first bytes of ``output`` after they were sent.
    package func consumeOutput(_ count: Int) {
        buffers.output.consume(count)
        if buffers.output.count == 0 { provoked = 0 }
    }

    /// Continues the handshake. When it completes, trust, host name and ALPN have been verified.
    ///
    /// Failures: ``TLSError/Code/untrusted``, ``TLSError/Code/protocolNotChosen``, ``TLSError/Code/failed``.
    package func handshake() -> TLSResult<Void> {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        guard result == 1 else {
            let error = unsafe SSL_get_error(ssl, result)
            if error == SSL_ERROR_SSL, let refusal = verificationError() { return .failed(refusal) }
            return ended(error, "handshake")
        }
        if let refusal = verificationError() { return .failed(refusal) }
        guard context.applicationProtocol.isChosen(by: chosenProtocol) else {
            let reason = "the peer did not choose \(context.applicationProtocol.rawValue)"
            return .failed(TLSError(.protocolNotChosen, "handshake", reasons: [reason]))
        }
        return .complete(())
    }

    /// Decrypts fed bytes, up to the size of `buffer`. Call it only after the handshake, until the result is
    /// `wantsMore`.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSResult<Int> {
        ERR_clear_error()
        var count = 0
        let waiting = buffers.output.count
        let result = unsafe SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        provoked += buffers.output.count - waiting
        guard provoked <= Self.maximumProvoked else {
            let reason = "the peer asks for more answers than it reads"
            return .failed(TLSError(.failed, "read", reasons: [reason]))
        }
        return result == 1 ? .complete(count) : unsafe ended(SSL_get_error(ssl, result), "read")
    }

    /// Encrypts bytes into ``output``. Returns how many were taken. If that is fewer than given, call it again with the
    /// rest.
    ///
    /// Call it only after the handshake, and never with an empty buffer.
    package func write(_ plaintext: UnsafeRawBufferPointer) -> TLSResult<Int> {
        ERR_clear_error()
        var count = 0
        let result = unsafe SSL_write_ex(ssl, plaintext.baseAddress, plaintext.count, &count)
        return result == 1 ? .complete(count) : unsafe ended(SSL_get_error(ssl, result), "write")
    }

    /// Adds a close_notify to ``output``: nothing more will be written. It does not wait for the peer's.
    package func close() {
        ERR_clear_error()
        // 0: the peer's close_notify has not arrived. A failure: the peer is already gone. Both are fine.
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// The application protocol that the peers agreed on, if any.
    package var chosenProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        guard let name = unsafe name else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// The TLS version in use, such as `TLSv1.3`.
    package var version: String { unsafe String(cString: SSL_get_version(ssl)) }

    private func expect(_ host: String) throws(TLSError) {
        ERR_clear_error()
        let parameters = unsafe SSL_get0_param(ssl)
        // A numeric address is compared with the certificate's addresses. It is never sent as a server name (RFC 6066
        // §3).
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return }
        ERR_clear_error()
        guard unsafe SSL_set1_host(ssl, host) == 1, unsafe COpenSSL_SSL_set_server_name(ssl, host) == 1 else {
            throw TLSError(.failed, draining: "host name \(host)")
        }
    }

    /// The error in the peer's certificate; `nil` if it is valid, and for servers, which request none.
    private func verificationError() -> TLSError? {
        guard context.role == .client else { return nil }
        let result = unsafe SSL_get_verify_result(ssl)
        guard result != Int(X509_V_OK) else { return nil }
        let words = unsafe String(cString: X509_verify_cert_error_string(result))
        _ = TLSError.drainQueue()
        return TLSError(.untrusted, "certificate of \(host ?? "peer")", reasons: [words])
    }

    private func ended<Value: Sendable>(_ error: Int32, _ operation: String) -> TLSResult<Value> {
        switch error {
        // The output never blocks, so `WANT_WRITE` also means that the call must be repeated.
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .wantsMore
        case SSL_ERROR_ZERO_RETURN: return .closed
        default: return .failed(TLSError(.failed, draining: operation))
        }
    }
}
