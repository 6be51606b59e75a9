import COpenSSL
import Cryptography
import Testing

@testable import TLSEngine

/// A server, or somebody in between, that would have less than the client insists on.
@Suite("TLS that somebody would weaken")
struct DowngradeTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// What a client of ours makes of a foreign server with this certificate.
    private func outcome(
        _ certificate: SelfSignedCertificate,
        trusting authority: SelfSignedCertificate? = nil,
        showing shown: String? = nil,
        version: Int32 = TLS1_3_VERSION
    ) throws -> Subject {
        let context = try TLSContext.client(caFile: folder.file("ca.pem", (authority ?? certificate).caPEM))
        let client = Subject(try TLSSession(client: context, host: "localhost"))
        let server = try RawPeer.server(
            certificateFile: folder.file("server.pem", shown ?? certificate.certificatePEM),
            keyFile: folder.file("server.key", certificate.privateKeyPEM),
            version: version
        )
        client.begin()
        for _ in 0..<6 {
            server.feed(client.takeOutput())
            server.shakeHands()
            client.feed(server.takeOutput())
        }
        return client
    }

    @Test("what is as it should be is taken", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func good(version: Int32) throws {
        #expect(try outcome(.make(), version: version).isOpen)
    }

    @Test("a server that speaks no TLS 1.2 is refused", arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func oldServer(version: Int32) throws {
        // As a server answers that can do no better: the version of its hello is its choice (RFC 5246 §7.4.1.3).
        let context = try TLSContext.client(caFile: folder.file("ca.pem", SelfSignedCertificate.make().caPEM))
        let client = Subject(try TLSSession(client: context, host: "localhost"))
        client.begin()
        #expect(!client.takeOutput().isEmpty)
        let minor = UInt8(truncatingIfNeeded: version)
        let hello: [UInt8] = [3, minor] + [UInt8](repeating: 7, count: 32) + [0, 0xC0, 0x09, 0]
        let message = [2, 0, 0, UInt8(hello.count)] + hello
        client.feed([22, 3, minor, 0, UInt8(message.count)] + message)
        #expect(client.error?.code == .failed)
        #expect(!client.isOpen)
        #expect(client.takeOutput().prefix(2) == [21, 3])
    }

    @Test(
        "a handshake of an old version, which two who take it bring to its end, is refused by client and server",
        arguments: [TLS1_VERSION, TLS1_1_VERSION]
    )
    func oldHandshake(version: Int32) throws {
        let certificate = try SelfSignedCertificate.make()
        let client = try outcome(certificate, version: version)
        #expect(client.error?.code == .failed)
        #expect(!client.isOpen)

        let careless = try RawPeer.client(versions: version...version)
        let server = Subject(
            try TLSSession(
                server: .server(
                    certificatePEM: certificate.certificatePEM,
                    privateKeyPEM: certificate.privateKeyPEM
                )
            )
        )
        let peer = try RawPeer.client(versions: version...version)
        let foreign = try RawPeer.server(
            certificateFile: folder.file("server.pem", certificate.certificatePEM),
            keyFile: folder.file("server.key", certificate.privateKeyPEM),
            version: version
        )
        for _ in 0..<6 {
            careless.shakeHands()
            server.feed(careless.takeOutput())
            careless.feed(server.takeOutput())
            peer.shakeHands()
            foreign.feed(peer.takeOutput())
            foreign.shakeHands()
            peer.feed(foreign.takeOutput())
        }
        #expect(peer.isOpen && foreign.isOpen)
        #expect(server.error?.code == .failed)
        #expect(!careless.isOpen)
    }

    @Test("a hello of TLS 1.2 from a server that could do more carries the mark of a downgrade, and is refused")
    func downgradeMark() throws {
        let context = try TLSContext.client(caFile: folder.file("ca.pem", SelfSignedCertificate.make().caPEM))
        let client = Subject(try TLSSession(client: context, host: "localhost"))
        client.begin()
        // RFC 8446 §4.1.3: the last eight bytes of the server's random.
        let mark: [UInt8] = [0x44, 0x4F, 0x57, 0x4E, 0x47, 0x52, 0x44, 0x01]
        let hello: [UInt8] = [3, 3] + [UInt8](repeating: 7, count: 24) + mark + [0, 0xC0, 0x2B, 0]
        let message = [2, 0, 0, UInt8(hello.count)] + hello
        client.feed([22, 3, 3, 0, UInt8(message.count)] + message)
        #expect(client.error?.code == .failed)
    }

    @Test("a certificate that is over is refused, and said to be that")
    func expired() throws {
        let certificate = try SelfSignedCertificate.make()
        let client = try outcome(certificate, showing: certificate.expiredCertificatePEM)
        #expect(client.error?.code == .untrusted)
        #expect(client.error?.description.contains("expired") == true, "\(client.error?.description ?? "")")
    }

    @Test("a certificate of another authority, or the server's own word, is refused")
    func foreignAuthority() throws {
        let mine = try SelfSignedCertificate.make()
        #expect(try outcome(.make(), trusting: mine).error?.code == .untrusted)
        // An authority by the same name, with another key.
        let client = try outcome(mine, trusting: .make())
        #expect(client.error?.code == .untrusted)
        #expect(!client.isOpen)
    }
}
