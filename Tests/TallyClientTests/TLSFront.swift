import Cryptography
import Foundation
import TestSupport

/// haproxy before a server, with a certificate of an authority of its own: TLS by somebody else's hand.
struct TLSFront {
    let port: UInt16
    /// The authority's certificate.
    let caFile: String

    /// Listens on all of 127.0.0.0/8; the certificate is for `localhost`, 127.0.0.1 and ::1. `options` follow in the
    /// line `bind`, such as `alpn h2`.
    static func with(
        _ server: ScriptedServer,
        options: String = "alpn h2,http/1.1",
        _ body: (TLSFront) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-front-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // what is left over is the system's to clear
        let certificate = try SelfSignedCertificate.make()
        let caFile = folder.appending(path: "ca.pem")
        let shown = folder.appending(path: "server.pem")
        try Data(certificate.caPEM.utf8).write(to: caFile)
        try Data((certificate.certificatePEM + certificate.privateKeyPEM).utf8).write(to: shown)
        let front = TLSFront(port: try await unusedPort(), caFile: caFile.path)
        let configuration = folder.appending(path: "haproxy.cfg")
        try Data(
            """
            defaults
                mode http
                timeout connect 60s
                timeout client 300s
                timeout server 300s
            frontend front
                bind 0.0.0.0:\(front.port) ssl crt \(shown.path) \(options)
                default_backend server
            backend server
                server one 127.0.0.1:\(server.port)

            """.utf8
        ).write(to: configuration)
        let proxy = try Program("haproxy").start(["-db", "-f", configuration.path])
        defer { proxy.kill() }
        try await body(front)
    }
}
