import Foundation
import Glibc
import HTTP2Engine
import HTTP2TestSupport
import Reactor
import TestSupport
import Testing

@Suite("Other people's clients and servers", .timeLimit(.minutes(1)), .bothSessions)
struct ForeignPeerTests {
    @Test("our client and nghttpd agree")
    func clientAgainstNghttpd() async throws {
        let certificate = try TestCertificate.shared.get()
        let program = try Program("nghttpd")
        let port = try await unusedPort()
        let process = try program.start([
            "--address=127.0.0.1", "--echo-upload", "--max-concurrent-streams=20", "\(port)",
            certificate.keyFile, certificate.certificateFile,
        ])
        defer { process.kill() }
        let loop = try EventLoop(name: "test-client")
        let client = try await connect(loop, certificate, port)
        #expect(try await client.onLoop { $0.maximumConcurrentStreams } == 20)
        let headers = try SharedHeaders(authority: "localhost", pathPrefix: "/", fields: [])
        let accepted = try await client.onLoop { connection in
            (0...20 as ClosedRange<UInt64>).count { tag in
                let body = SharedBytes([UInt8](repeating: UInt8(tag), count: 1 + Int(tag) * 3000))
                return (try? connection.submit(tag: tag, headers: headers, path: "", body: body)) != nil
            }
        }
        #expect(accepted == 20)
        var answered: Set<UInt64> = []
        while answered.count < 20 {
            switch try await client.mailbox.next() {
            case .responded(let tag, let response):
                #expect(response.status == 200)
                #expect(response.body == [UInt8](repeating: UInt8(tag), count: 1 + Int(tag) * 3000))
                answered.insert(tag)
            case .failed(let tag, let failure): Issue.record("request \(tag): \(failure)")
            case .closed(let error): throw error ?? HTTP2Error(.lost, "closed")
            default: continue
            }
        }
        try await client.close()
        #expect(try await client.end() == nil)
        await loop.shutDown()
    }

    @Test("curl posts to our server")
    func curlAgainstServer() async throws {
        try await withServer(answer: { request, responder in
            let text = "\(request.method) \(request.path) \(request.fields["x-test"] ?? "-") \(request.body.count)"
            try responder.respond(status: 403, fields: [HTTP2Header("apns-id", "42")], body: Array(text.utf8))
        }) { server, certificate in
            let output = try await Program("curl").run([
                "--silent", "--show-error", "--include", "--http2", "--cacert", certificate.caFile,
                "--header", "x-test: yes", "--data", "0123456789", "https://localhost:\(server.port)/3/device/ab?c",
            ])
            #expect(output.status == 0)
            #expect(output.text.hasPrefix("HTTP/2 403"))
            #expect(output.text.contains("apns-id: 42"))
            #expect(output.text.hasSuffix("POST /3/device/ab?c yes 10"))
        }
    }

    @Test("curl without HTTP/2 is refused in the handshake")
    func curlWithoutHTTP2() async throws {
        try await withServer { server, certificate in
            let output = try await Program("curl").run([
                "--silent", "--show-error", "--http1.1", "--cacert", certificate.caFile,
                "https://localhost:\(server.port)/",
            ])
            #expect(output.status == 35)
            #expect(output.text.contains("no application protocol"))
        }
    }

    @Test("h2load finds no failure in our server")
    func h2loadAgainstServer() async throws {
        try await withServer { server, _ in
            let output = try await Program("h2load").run([
                "-n", "5000", "-c", "3", "-m", "200", "https://localhost:\(server.port)/3/device/abcdef",
            ])
            #expect(output.text.contains("5000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(output.text)")
            #expect(output.text.contains("status codes: 5000 2xx"))
        }
    }

    @Test("nghttp gets every answer before a graceful end")
    func nghttpAgainstServer() async throws {
        try await withServer(answer: { request, responder in
            responder.connection?.close()
            try responder.respond(status: 200, body: Array("last words".utf8))
        }) { server, _ in
            let output = try await Program("nghttp").run(["--no-verify-peer", "https://localhost:\(server.port)/"])
            #expect(output.text.contains("last words"))
        }
    }

    /// Until the program listens, which it does not tell; the test's time limit is the deadline.
    private func connect(_ loop: EventLoop, _ certificate: TestCertificate, _ port: UInt16) async throws -> TestClient {
        while true {
            let client = try await TestClient(loop: loop, context: certificate.clientContext(), port: port)
            do {
                _ = try await client.waitUntilOpen()
                return client
            } catch let error as HTTP2Error where error.code == .unreachable {
                await Task.yield()
            }
        }
    }
}
