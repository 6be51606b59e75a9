import COpenSSL

@testable import TLSEngine

/// A TLS peer of OpenSSL alone, in memory, that does what our sessions never would: old versions, renegotiation, floods
/// of key updates, a close in the middle.
final class RawPeer {
    let ssl: OpaquePointer
    private let context: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer

    /// A client that trusts anyone and offers `h2`.
    static func client(versions: ClosedRange<Int32> = TLS1_2_VERSION...TLS1_3_VERSION) throws -> RawPeer {
        try RawPeer(TLS_client_method(), versions) { ssl, _ in
            SSL_set_connect_state(ssl)
            _ = SSL_set_alpn_protos(ssl, [2] + Array("h2".utf8), 3)
        }
    }

    /// A server that chooses the first protocol it is offered.
    static func server(certificateFile: String, keyFile: String, version: Int32 = TLS1_3_VERSION) throws -> RawPeer {
        try RawPeer(TLS_server_method(), version...version) { ssl, context in
            SSL_use_certificate_file(ssl, certificateFile, SSL_FILETYPE_PEM)
            SSL_use_PrivateKey_file(ssl, keyFile, SSL_FILETYPE_PEM)
            SSL_CTX_set_alpn_select_cb(
                context,
                { _, chosen, count, offered, _, _ in
                    guard let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                    chosen?.pointee = offered + 1
                    count?.pointee = offered.pointee
                    return SSL_TLSEXT_ERR_OK
                },
                nil
            )
            SSL_set_accept_state(ssl)
        }
    }

    private init(
        _ method: OpaquePointer?,
        _ versions: ClosedRange<Int32>,
        _ prepare: (OpaquePointer, OpaquePointer) -> Void
    ) throws {
        guard let context = SSL_CTX_new(method), let ssl = SSL_new(context), let input = BIO_new(BIO_s_mem()),
            let output = BIO_new(BIO_s_mem())
        else { throw TLSError(.outOfMemory, draining: "raw peer") }
        (self.context, self.ssl, self.input, self.output) = (context, ssl, input, output)
        SSL_set_bio(ssl, input, output)
        if versions.lowerBound < TLS1_2_VERSION {
            // OpenSSL's own scruples begin above this level.
            SSL_set_security_level(ssl, 0)
            SSL_set_cipher_list(ssl, "DEFAULT")
        }
        SSL_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(versions.lowerBound), nil)
        SSL_ctrl(ssl, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(versions.upperBound), nil)
        prepare(ssl, context)
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    /// Whether the handshake has come to its end.
    var isOpen: Bool { SSL_is_init_finished(ssl) == 1 }

    /// Goes on with the handshake as far as it can.
    func shakeHands() {
        SSL_do_handshake(ssl)
        ERR_clear_error()
    }

    func write(_ bytes: [UInt8]) {
        SSL_write(ssl, bytes, Int32(bytes.count))
        ERR_clear_error()
    }

    func read() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 20_000)
        while true {
            let count = SSL_read(ssl, &buffer, Int32(buffer.count))
            guard count > 0 else { break }
            bytes += buffer.prefix(Int(count))
        }
        ERR_clear_error()
        return bytes
    }

    /// Takes the ciphertext that this peer has to send.
    func takeOutput() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 20_000)
        while true {
            let count = BIO_read(output, &buffer, Int32(buffer.count))
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(Int(count))
        }
    }

    func feed(_ ciphertext: [UInt8]) {
        BIO_write(input, ciphertext, Int32(ciphertext.count))
    }
}
