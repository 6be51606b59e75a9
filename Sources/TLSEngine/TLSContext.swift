import COpenSSL

/// The shared settings of all TLS sessions of one kind: trust or certificate, TLS 1.2 or newer, ALPN.
///
/// It is immutable, so one context serves every thread.
@safe
package final class TLSContext: @unchecked Sendable {
    // Unchecked, but correct: the `SSL_CTX` does not change after `init`, and OpenSSL locks its own counters and
    // session cache.
    /// Which end of the connections this side is.
    package enum Role: Sendable { case client, server }

    /// The protocol that is spoken over TLS.
    package enum ApplicationProtocol: String, Sendable {
        /// Both ends must agree on it through ALPN (RFC 9113 §3.2).
        case http2 = "h2"
        /// A server without ALPN is assumed to speak it (RFC 7301 §3.2 leaves this open).
        case http1 = "http/1.1"

        /// Whether a peer that chose `name` speaks it.
        func isChosen(by name: String?) -> Bool { name == rawValue || (name == nil && self == .http1) }
    }

    package let role: Role
    let applicationProtocol: ApplicationProtocol
    private let raw: OpaquePointer

    private init(_ role: Role, _ applicationProtocol: ApplicationProtocol) throws(TLSError) {
        ERR_clear_error()
        self.role = role
        self.applicationProtocol = applicationProtocol
        let method = unsafe role == .client ? TLS_client_method() : TLS_server_method()
        guard let raw = unsafe SSL_CTX_new(method) else { throw TLSError(.outOfMemory, draining: "context") }
        unsafe self.raw = raw
        guard unsafe COpenSSL_SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) == 1 else {
            throw TLSError(.failed, draining: "minimum version")
        }
        unsafe COpenSSL_SSL_CTX_set_mode(
            raw,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
        )
        // One read of the input per batch of records instead of two per record.
        unsafe COpenSSL_SSL_CTX_set_read_ahead(raw, 1)
        unsafe SSL_CTX_set_default_read_buffer_len(raw, 64 * 1024)
        // RFC 9113 §9.2.1 forbids renegotiation with HTTP/2.
        _ = unsafe SSL_CTX_set_options(raw, COpenSSL_SSL_OP_NO_RENEGOTIATION())
    }

    deinit {
        unsafe SSL_CTX_free(raw)
    }

    /// A context for clients. The server's certificate must be trusted by the system or by `caFile`, and must name the
    /// host.
    ///
    /// - `caFile`: PEM certificates that are trusted in addition to the system's.
    /// - Throws: ``TLSError/Code/invalidMaterial`` with the file name, if the file cannot be read or contains no
    ///   certificate.
    package static func client(
        caFile: String? = nil,
        for applicationProtocol: ApplicationProtocol = .http2
    ) throws(TLSError) -> TLSContext {
        try client(caFile: caFile, for: applicationProtocol, offering: applicationProtocol.rawValue)
    }

    /// `offered`: the protocol that the client offers through ALPN; `nil`: none.
    static func client(
        caFile: String?,
        for applicationProtocol: ApplicationProtocol,
        offering offered: String?
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(.client, applicationProtocol)
        try context.trust(caFile)
        if let offered {
            let list = [UInt8(offered.utf8.count)] + offered.utf8
            // Unlike similar functions, this one returns 0 for success.
            guard unsafe SSL_CTX_set_alpn_protos(context.raw, list, UInt32(list.count)) == 0 else {
                throw TLSError(.failed, draining: "ALPN")
            }
        }
        return context
    }

    /// A context for servers. Clients must offer `h2`.
    ///
    /// - `certificatePEM`: the server's certificate, followed by intermediate ones.
    /// - `privateKeyPEM`: the unencrypted key of the first certificate.
    /// - Throws: ``TLSError/Code/invalidMaterial`` if a text lacks its certificate or key, or if they do not match.
    package static func server(certificatePEM: String, privateKeyPEM: String) throws(TLSError) -> TLSContext {
        let context = try TLSContext(.server, .http2)
        try context.use(certificatePEM: certificatePEM)
        try context.use(privateKeyPEM: privateKeyPEM)
        // No client resumes a session here, so tickets would waste bytes.
        _ = unsafe SSL_CTX_set_num_tickets(context.raw, 0)
        unsafe SSL_CTX_set_alpn_select_cb(context.raw, selectHTTP2, nil)
        return context
    }

    /// A new SSL object, owned by the caller.
    func makeSSL() throws(TLSError) -> OpaquePointer {
        ERR_clear_error()
        guard let ssl = unsafe SSL_new(raw) else { throw TLSError(.outOfMemory, draining: "session") }
        return unsafe ssl
    }

    private func trust(_ caFile: String?) throws(TLSError) {
        unsafe SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        guard unsafe SSL_CTX_set_default_verify_paths(raw) == 1 else {
            throw TLSError(.invalidMaterial, draining: "system trust store")
        }
        guard let caFile else { return }
        guard unsafe SSL_CTX_load_verify_file(raw, caFile) == 1 else {
            throw TLSError(.invalidMaterial, draining: "CA file \(caFile)")
        }
    }

    private func use(certificatePEM: String) throws(TLSError) {
        let certificates = try PEM.certificates(in: certificatePEM)
        guard let leaf = certificates.first else {
            throw TLSError(.invalidMaterial, "server certificate", reasons: ["no certificate in the text"])
        }
        guard unsafe SSL_CTX_use_certificate(raw, leaf.raw) == 1 else {
            throw TLSError(.invalidMaterial, draining: "server certificate")
        }
        for certificate in certificates.dropFirst() {
            guard unsafe COpenSSL_SSL_CTX_add_chain_certificate(raw, certificate.raw) == 1 else {
                throw TLSError(.invalidMaterial, draining: "server certificate chain")
            }
        }
    }

    private func use(privateKeyPEM: String) throws(TLSError) {
        let key = try PEM.PrivateKey(privateKeyPEM)
        guard unsafe SSL_CTX_use_PrivateKey(raw, key.raw) == 1, unsafe SSL_CTX_check_private_key(raw) == 1 else {
            throw TLSError(.invalidMaterial, draining: "server private key")
        }
    }
}

/// Chooses `h2` if the client offers it; otherwise the handshake ends with `no_application_protocol` (RFC 7301 §3.2).
private func selectHTTP2(
    _ ssl: OpaquePointer?,
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?,
    _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let chosen = unsafe chosen, let chosenCount = unsafe chosenCount else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredCount))
    // A list of names; one length byte precedes each name.
    var index = 0
    while index < list.count {
        let count = unsafe Int(list[index])
        let end = index + 1 + count
        guard end <= list.count else { break }
        let name = unsafe UnsafeBufferPointer(rebasing: list[(index + 1)..<end])
        if unsafe name.elementsEqual("h2".utf8) {
            unsafe chosen.pointee = name.baseAddress
            unsafe chosenCount.pointee = UInt8(count)
            return SSL_TLSEXT_ERR_OK
        }
        index = end
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
