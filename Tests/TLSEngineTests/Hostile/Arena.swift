import COpenSSL
import Cryptography
import Testing

@testable import TLSEngine

/// Makes sessions of ours and foreign peers that trust each other.
struct Arena {
    private let folder: TemporaryFolder
    private let serverContext: TLSContext
    private let clientContext: TLSContext
    private let certificateFile: String
    private let keyFile: String

    init() throws {
        folder = try TemporaryFolder()
        let certificate = try SelfSignedCertificate.make()
        certificateFile = try folder.file("server.pem", certificate.certificatePEM)
        keyFile = try folder.file("server.key", certificate.privateKeyPEM)
        serverContext = try .server(
            certificatePEM: certificate.certificatePEM,
            privateKeyPEM: certificate.privateKeyPEM
        )
        clientContext = try .client(caFile: folder.file("ca.pem", certificate.caPEM))
    }

    /// One of our sessions that waits to be fed.
    func subject(_ isServer: Bool) throws -> Subject {
        Subject(try isServer ? TLSSession(server: serverContext) : TLSSession(client: clientContext, host: "localhost"))
    }

    /// The other side for it.
    func peer(of isServer: Bool, version: Int32 = TLS1_3_VERSION) throws -> RawPeer {
        isServer
            ? try RawPeer.client(versions: version...version)
            : try RawPeer.server(certificateFile: certificateFile, keyFile: keyFile, version: version)
    }

    /// A server of ours and a foreign client, or the other way round, up to the end of the handshake.
    func connected(
        _ isServer: Bool,
        version: Int32 = TLS1_3_VERSION
    ) throws -> (subject: Subject, peer: RawPeer) {
        let subject = try subject(isServer)
        let peer = try peer(of: isServer, version: version)
        exchange(subject, peer)
        #expect(subject.isOpen && subject.error == nil)
        return (subject, peer)
    }

    func exchange(_ subject: Subject, _ peer: RawPeer) {
        subject.begin()
        for _ in 0..<6 {
            peer.feed(subject.takeOutput())
            peer.shakeHands()
            subject.feed(peer.takeOutput())
        }
    }
}
