import APITypes
import ActivityModel
import Cryptography
import Foundation
import Reactor
import TestSupport
import Testing

@testable import WebhookTransport
@testable import Webhooks

@Suite("Webhooks and a receiver of others", .timeLimit(.minutes(1)))
struct ForeignReceiverTests {
    private static let secret = WebhookSecret(bytes: Array(1...32))
    private static let local = AddressRules(allowed: ["127.0.0.1"].compactMap { AddressBlock($0) })
    private static let body = Array(#"{"type":"tally.events","data":{"events":[{},{}]}}"#.utf8)

    /// What a receiver in Python has seen, and its port.
    private struct Receiver {
        let folder: URL
        let port: Int

        func requests() throws -> [String] {
            let file = folder.appending(path: "requests")
            guard FileManager.default.fileExists(atPath: file.path) else { return [] }
            return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
        }
    }

    /// `certificate`: for a receiver with TLS.
    private func withReceiver(
        _ certificate: SelfSignedCertificate? = nil,
        _ body: (Receiver) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-webhooks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // What is left is in the temporary folder.
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = URL(filePath: #filePath).appending(path: "../../ForeignPeers/webhook_receiver.py")
            .standardizedFileURL
        var arguments = [script.path, folder.path, Self.secret.text]
        if let certificate {
            let shown = folder.appending(path: "server.pem")
            try Data((certificate.certificatePEM + certificate.privateKeyPEM).utf8).write(to: shown)
            try Data(certificate.caPEM.utf8).write(to: folder.appending(path: "ca.pem"))
            arguments.append(shown.path)
        }
        let process = try Program.python().start(arguments)
        defer { process.kill() }
        let file = folder.appending(path: "port")
        try await eventually("the receiver listens", is: { FileManager.default.fileExists(atPath: file.path) })
        let port = try #require(Int(try String(contentsOf: file, encoding: .utf8)))
        try await body(Receiver(folder: folder, port: port))
    }

    private func headers(_ id: String, by secret: WebhookSecret = secret) -> [(name: String, value: String)] {
        secret.headers(id: id, unixSeconds: Int64(Date().timeIntervalSince1970), body: Self.body)
    }

    @Test("The library standardwebhooks accepts a message that Tally signs, and no other")
    func verifies() async throws {
        try await withReceiver { receiver in
            let transport = try WebhookTransport(rules: Self.local)
            let endpoint = transport.endpoint(at: "http://127.0.0.1:\(receiver.port)/tally?a=b")
            #expect(await endpoint.post(Self.body, headers: headers("msg_1")) == .status(204))
            #expect(await endpoint.post(Self.body, headers: headers("msg_2")) == .status(204))
            let wrong = headers("msg_3", by: WebhookSecret(bytes: Array(2...33)))
            #expect(await endpoint.post(Self.body, headers: wrong) == .status(401))
            #expect(try receiver.requests().prefix(2) == ["msg_1 2", "msg_2 2"])
        }
    }

    @Test("A redirect is an answer like any other, and nothing follows it")
    func redirect() async throws {
        try await withReceiver { receiver in
            let transport = try WebhookTransport(rules: Self.local)
            let endpoint = transport.endpoint(at: "http://127.0.0.1:\(receiver.port)/redirect")
            #expect(await endpoint.post(Self.body, headers: headers("msg_1")) == .status(307))
            #expect(try receiver.requests() == ["msg_1 2"])
        }
    }

    @Test("A name that leads to one internal address is refused before a connection")
    func rebinding() async throws {
        try await withReceiver { receiver in
            let mixed = ["1.1.1.1", "127.0.0.1"].compactMap { SocketAddress(numeric: $0, port: 0) }
            for rules in [AddressRules(), AddressRules(allowed: ["10.0.0.0/8"].compactMap { AddressBlock($0) })] {
                let transport = try WebhookTransport(rules: rules, lookUp: { _ in mixed })
                for scheme in ["http", "https"] {
                    let endpoint = transport.endpoint(at: "\(scheme)://hooks.example.com:\(receiver.port)/")
                    let answer = await endpoint.post(Self.body, headers: headers("msg_1"))
                    #expect(answer == .failed("the address is not allowed"))
                }
            }
            #expect(try receiver.requests().isEmpty)
        }
    }

    @Test("The connection goes to the address that was checked")
    func pinned() async throws {
        try await withReceiver { receiver in
            let found = ["127.0.0.1"].compactMap { SocketAddress(numeric: $0, port: 0) }
            let transport = try WebhookTransport(rules: Self.local, lookUp: { _ in found })
            let endpoint = transport.endpoint(at: "http://no-such-name.invalid:\(receiver.port)/")
            #expect(await endpoint.post(Self.body, headers: headers("msg_1")) == .status(204))
        }
    }

    @Test(
        "A receiver with the certificate of a private authority is refused with the reason, and accepted with its file"
    )
    func privateAuthority() async throws {
        try await withReceiver(try SelfSignedCertificate.make()) { receiver in
            let url = "https://127.0.0.1:\(receiver.port)/"
            let stranger = try WebhookTransport(rules: Self.local).endpoint(at: url)
            let refused = WebhookAnswer.failed("the certificate is not trusted")
            #expect(await stranger.post(Self.body, headers: headers("msg_1")) == refused)
            #expect(try receiver.requests().isEmpty)

            let file = receiver.folder.appending(path: "ca.pem").path
            let known = try WebhookTransport(rules: Self.local, caFile: file)
            #expect(await known.endpoint(at: url).post(Self.body, headers: headers("msg_2")) == .status(204))
            #expect(try receiver.requests() == ["msg_2 2"])

            // The authority is trusted, but the certificate is not for this name.
            let found = ["127.0.0.1"].compactMap { SocketAddress(numeric: $0, port: 0) }
            let misled = try WebhookTransport(rules: Self.local, caFile: file, lookUp: { _ in found })
            let other = misled.endpoint(at: "https://hooks.example.com:\(receiver.port)/")
            #expect(await other.post(Self.body, headers: headers("msg_3")) == refused)
            #expect(try receiver.requests() == ["msg_2 2"])
        }
    }
}
