import Cryptography
import Foundation
import Glibc
import TLSEngine

/// One authority and server certificate for the whole test run, with the authority in a file as clients want it.
struct TestCertificate: Sendable {
    let certificate: SelfSignedCertificate
    let folder: URL

    /// Its folder lasts as long as the process.
    static let shared: Result<TestCertificate, any Error> = Result {
        let shared = try TestCertificate()
        atexit {
            guard case .success(let shared) = TestCertificate.shared else { return }
            try? FileManager.default.removeItem(at: shared.folder)  // what is left is in the temporary folder
        }
        return shared
    }

    init() throws {
        certificate = try SelfSignedCertificate.make()
        folder = FileManager.default.temporaryDirectory.appending(path: "tally-http2-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try certificate.caPEM.write(to: folder.appending(path: "ca.pem"), atomically: true, encoding: .utf8)
        try certificate.certificatePEM.write(
            to: folder.appending(path: "server.pem"),
            atomically: true,
            encoding: .utf8
        )
        try certificate.privateKeyPEM.write(to: folder.appending(path: "server.key"), atomically: true, encoding: .utf8)
    }

    var caFile: String { folder.appending(path: "ca.pem").path }
    var certificateFile: String { folder.appending(path: "server.pem").path }
    var keyFile: String { folder.appending(path: "server.key").path }

    func clientContext() throws -> TLSContext {
        try .client(caFile: caFile)
    }

    func serverContext() throws -> TLSContext {
        try .server(certificatePEM: certificate.certificatePEM, privateKeyPEM: certificate.privateKeyPEM)
    }
}
