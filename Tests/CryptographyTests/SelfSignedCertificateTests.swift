import Cryptography
import Foundation
import TestSupport
import Testing

@Suite("Self-signed certificates")
struct SelfSignedCertificateTests {
    @Test("the server certificate names its hosts and hangs under the authority")
    func verifies() async throws {
        let made = try SelfSignedCertificate.make(hosts: ["api.example.test", "192.0.2.7", "localhost"], validDays: 3)
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Left-over temporary files are no reason for a test to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        try made.caPEM.write(to: folder.appending(path: "ca.pem"), atomically: true, encoding: .utf8)
        try made.certificatePEM.write(to: folder.appending(path: "server.pem"), atomically: true, encoding: .utf8)
        let authority = folder.appending(path: "ca.pem").path
        let server = folder.appending(path: "server.pem").path

        for host in ["localhost", "api.example.test"] {
            let verified = try await openssl(
                [
                    "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", host, "-CAfile", authority,
                    server,
                ]
            )
            #expect(verified.status == 0, "\(verified.text)")
        }
        for address in ["127.0.0.1", "::1", "192.0.2.7"] {
            let verified = try await openssl(["verify", "-verify_ip", address, "-CAfile", authority, server])
            #expect(verified.status == 0, "\(verified.text)")
        }
        #expect(
            try await openssl(["verify", "-verify_hostname", "other.test", "-CAfile", authority, server]).status != 0
        )
        #expect(try await openssl(["x509", "-checkend", "\(3 * 86_400 - 3_600)", "-noout", "-in", server]).status == 0)
        #expect(try await openssl(["x509", "-checkend", "\(3 * 86_400 + 60)", "-noout", "-in", server]).status != 0)
        #expect(throws: Never.self) { try P256PrivateKey(pem: made.privateKeyPEM) }
    }

    @Test("the expired certificate is of the same server and hangs under the same authority, until yesterday")
    func expired() async throws {
        let made = try SelfSignedCertificate.make()
        let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Left-over temporary files are no reason for a test to fail.
        defer { try? FileManager.default.removeItem(at: folder) }
        let (authority, server) = (folder.appending(path: "ca.pem"), folder.appending(path: "server.pem"))
        try made.caPEM.write(to: authority, atomically: true, encoding: .utf8)
        try made.expiredCertificatePEM.write(to: server, atomically: true, encoding: .utf8)

        let today = try await openssl(["verify", "-verify_ip", "127.0.0.1", "-CAfile", authority.path, server.path])
        #expect(today.status != 0)
        #expect(today.text.contains("certificate has expired"), "\(today.text)")
        let then = "\(Int(Date().timeIntervalSince1970) - 2 * 86_400)"
        let past = try await openssl(["verify", "-attime", then, "-CAfile", authority.path, server.path])
        #expect(past.status == 0, "\(past.text)")
    }

    @Test(
        "a host that would smuggle in another name is refused",
        arguments: ["a,DNS:b", "a\nb", "", "a b", "@section", "ä.test"]
    )
    func refused(host: String) {
        #expect(throws: CryptographyError.self) { try SelfSignedCertificate.make(hosts: [host]) }
    }

    private func openssl(_ arguments: [String]) async throws -> Program.Output {
        try await Program("openssl").run(arguments)
    }
}
