import Cryptography
import Testing

@testable import TLSEngine

@Suite("Certificates, keys and CA files")
struct MaterialTests {
    @Test(
        "a CA file that cannot be read, or holds no certificate, is an error that names it",
        arguments: [
            "", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nMIIB", nil,
        ]
    )
    func badCAFile(text: String?) throws {
        let folder = try TemporaryFolder()
        let path = try text.map { try folder.file("authority.pem", $0) } ?? "/nowhere/authority.pem"
        let error = #expect(throws: TLSError.self) { try TLSContext.client(caFile: path) }
        #expect(error?.code == .invalidMaterial)
        #expect(error?.description.contains(path) == true)
    }

    @Test("a server needs a certificate and the key that belongs to it")
    func serverMaterial() throws {
        let one = try SelfSignedCertificate.make()
        let other = try SelfSignedCertificate.make()
        let cases = [
            ("", one.privateKeyPEM), ("no PEM", one.privateKeyPEM), (one.certificatePEM, ""),
            (one.certificatePEM, other.privateKeyPEM), (one.privateKeyPEM, one.privateKeyPEM),
            (String(one.certificatePEM.dropLast(40)), one.privateKeyPEM),
        ]
        for (certificate, key) in cases {
            let error = #expect(throws: TLSError.self) {
                try TLSContext.server(certificatePEM: certificate, privateKeyPEM: key)
            }
            #expect(error?.code == .invalidMaterial)
        }
        _ = try TLSContext.server(certificatePEM: one.certificatePEM + one.caPEM, privateKeyPEM: one.privateKeyPEM)
    }

    @Test("errors never contain the key")
    func noSecrets() throws {
        let certificate = try SelfSignedCertificate.make()
        let damaged = certificate.privateKeyPEM.replacing("MI", with: "IM")
        let error = #expect(throws: TLSError.self) {
            try TLSContext.server(certificatePEM: certificate.certificatePEM, privateKeyPEM: damaged)
        }
        let secret = certificate.privateKeyPEM.split(separator: "\n")[1]
        #expect(error.map { "\($0)".contains(secret) } == false)
    }

    @Test("an impossible host name is refused before anything is sent")
    func badHost() throws {
        let context = try TLSContext.client()
        #expect(throws: TLSError.self) { try TLSSession(client: context, host: String(repeating: "a", count: 300)) }
    }
}
