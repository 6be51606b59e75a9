import Cryptography
import Foundation
import Testing

@testable import TLSEngine

@Suite("TLS in memory")
struct HandshakeTests {
    private let folder: TemporaryFolder
    private let certificate: SelfSignedCertificate
    private let caFile: String

    init() throws {
        folder = try TemporaryFolder()
        certificate = try SelfSignedCertificate.make(hosts: ["push.example.com"])
        caFile = try folder.file("ca.pem", certificate.caPEM)
    }

    private func handshake(host: String = "localhost", caFile: String?, alpn: String? = "h2") throws -> MemoryHandshake
    {
        let server = try TLSContext.server(
            certificatePEM: certificate.certificatePEM,
            privateKeyPEM: certificate.privateKeyPEM
        )
        let client = try TLSContext.client(caFile: caFile, for: .http2, offering: alpn)
        return try MemoryHandshake(client: TLSSession(client: client, host: host), server: TLSSession(server: server))
    }

    @Test(
        "a trusted server of the right name is accepted",
        arguments: ["localhost", "push.example.com", "127.0.0.1", "::1"]
    )
    func good(host: String) throws {
        let pair = try handshake(host: host, caFile: caFile)
        let results = pair.run()
        #expect(results.client.isComplete)
        #expect(results.server.isComplete)
        #expect(pair.client.chosenProtocol == "h2")
        #expect(pair.server.chosenProtocol == "h2")
        #expect(pair.client.version == "TLSv1.3")
    }

    @Test(
        "a name that the certificate does not carry is refused",
        arguments: ["example.com", "localhost.example.com", "127.0.0.2"]
    )
    func wrongHost(host: String) throws {
        let results = try handshake(host: host, caFile: caFile).run()
        let error = try #require(results.client.error)
        #expect(error.code == .untrusted)
        #expect(error.description.contains("mismatch"))
        #expect(error.description.contains(host))
    }

    @Test("an authority that is not in the system's store is refused without a CA file")
    func untrusted() throws {
        let results = try handshake(caFile: nil).run()
        #expect(results.client.error?.code == .untrusted)
        #expect(!results.server.isComplete)
    }

    @Test("a client that offers no protocol, or another one, is refused", arguments: [nil, "http/1.1"])
    func noALPN(offer: String?) throws {
        let pair = try handshake(caFile: caFile, alpn: offer)
        let results = pair.run()
        #expect(!results.client.isComplete || offer == nil)
        let error = try #require(offer == nil ? results.server.error : results.client.error)
        #expect(error.code == (offer == nil ? .protocolNotChosen : .failed))
    }

    @Test("bytes of every size pass unchanged in both directions", arguments: [1, 100, 16_384, 16_385, 1_000_000])
    func data(size: Int) throws {
        let pair = try handshake(caFile: caFile)
        _ = pair.run()
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try MemoryHandshake.writeAll(bytes, pair.client)
        pair.transfer(from: pair.client, to: pair.server)
        let received = MemoryHandshake.readAll(pair.server)
        #expect(received.bytes == bytes)
        try MemoryHandshake.writeAll(received.bytes, pair.server)
        pair.transfer(from: pair.server, to: pair.client)
        #expect(MemoryHandshake.readAll(pair.client).bytes == bytes)
    }

    @Test("records may arrive byte by byte")
    func fragments() throws {
        let pair = try handshake(caFile: caFile)
        _ = pair.run()
        try MemoryHandshake.writeAll(Array("hello".utf8), pair.client)
        var received: [UInt8] = []
        for byte in Array(pair.client.output) {
            [byte].withUnsafeBytes { pair.server.feed($0) }
            received += MemoryHandshake.readAll(pair.server).bytes
        }
        #expect(String(decoding: received, as: UTF8.self) == "hello")
    }

    @Test("a close is told apart from a broken record")
    func ends() throws {
        let closed = try handshake(caFile: caFile)
        _ = closed.run()
        closed.client.close()
        closed.transfer(from: closed.client, to: closed.server)
        guard case .closed = MemoryHandshake.readAll(closed.server).end else { return #expect(Bool(false)) }

        let broken = try handshake(caFile: caFile)
        _ = broken.run()
        try MemoryHandshake.writeAll(Array("hello".utf8), broken.client)
        var record = Array(broken.client.output)
        record[record.count - 1] ^= 1
        record.withUnsafeBytes { broken.server.feed($0) }
        guard case .failed(let error) = MemoryHandshake.readAll(broken.server).end else { return #expect(Bool(false)) }
        #expect(error.code == .failed)
        #expect(!error.reasons.isEmpty)
    }

    @Test("an error of one session is not blamed on the next call of another")
    func errorQueue() throws {
        let good = try handshake(caFile: caFile)
        _ = good.run()
        let bad = try handshake(host: "example.com", caFile: caFile)
        _ = bad.run()
        guard case .wantsMore = MemoryHandshake.readAll(good.client).end else { return #expect(Bool(false)) }
    }

    @Test("bytes that are no TLS fail the handshake")
    func garbage() throws {
        let pair = try handshake(caFile: caFile)
        Array("GET / HTTP/1.1\r\n\r\n".utf8).withUnsafeBytes { pair.server.feed($0) }
        #expect(pair.server.handshake().error?.code == .failed)
    }
}

extension TLSResult {
    var isComplete: Bool { if case .complete = self { true } else { false } }
    var error: TLSError? { if case .failed(let error) = self { error } else { nil } }
}
