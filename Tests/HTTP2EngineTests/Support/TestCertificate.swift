import Cryptography
import Foundation
import TLSEngine

/// One authority and server certificate for the whole test run, with the authority in a file as clients want it.
struct TestCertificate: Sendable {
    let certificate: SelfSignedCertificate
    let folder: URL

    static let shared = Result { try TestCertificate() }

    init() throws {
        certificate = try SelfSignedCertificate.make()
        folder = FileManager.default.temporaryDirectory.appending(path: "tally-http2-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try certificate.caPEM.write(to: folder.appending(path: "ca.pem"), atomically: true, encoding: .utf8)
        try certificate.certificatePEM.write(to: folder.appending(path: "server.pem"), atomically: true, encoding: .utf8)
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
