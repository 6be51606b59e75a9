import Dispatch
import HTTP2TestSupport
import Reactor
import TLSEngine
import Testing

@testable import HTTP2Engine

@Suite("Hostile peers on real sockets", .timeLimit(.minutes(2)), .bothSessions)
struct HostileSocketTests {
    /// A server's frames that end a client's connection, and the code of the error it is told.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let output: [[UInt8]]
        var repeatsLast = false
        let code: HTTP2Error.Code
    }

    private static let cases = [
        Case(testDescription: "no SETTINGS, ever", output: [], code: .timedOut),
        Case(
            testDescription: "an answer in HTTP/1.1",
            output: [Array("HTTP/1.1 400 Bad\r\n\r\n".utf8)],
            code: .violation
        ),
        Case(testDescription: "half a frame, then nothing", output: [[0, 0, 6, 4]], code: .timedOut),
        Case(
            testDescription: "a frame too long",
            output: [RawFrame.settings(), RawFrame.frame(type: 0, stream: 1, RawFrame.text(16_385))],
            code: .violation
        ),
        Case(
            testDescription: "DATA for no stream",
            output: [RawFrame.settings() + RawFrame.data(stream: 0, [1])],
            code: .violation
        ),
        Case(
            testDescription: "a window that grows by nothing",
            output: [RawFrame.settings() + RawFrame.windowUpdate(0)],
            code: .violation
        ),
        Case(
            testDescription: "pings as fast as they can be sent",
            output: [RawFrame.settings(), (0..<2000).flatMap { _ in RawFrame.ping(1) }],
            repeatsLast: true,
            code: .flooded
        ),
        Case(
            testDescription: "CONTINUATION without end",
            output: [
                RawFrame.settings(), RawFrame.frame(type: 1, stream: 1, RawFrame.ok),
                RawFrame.continuation(stream: 1, ends: false, []),
            ],
            repeatsLast: true,
            code: .violation
        ),
    ]

    @Test("a hostile server ends the connection, and says why", arguments: cases)
    func server(attack: Case) async throws {
        let certificate = try TestCertificate.shared.get()
        let serverLoop = try EventLoop(name: "test-server")
        let clientLoop = try EventLoop(name: "test-client")
        let peer = ScriptedPeer(loop: serverLoop, attack.output, repeatsLast: attack.repeatsLast)
        let (port, listener) = try await peer.listen(certificate.serverContext())
        var configuration = HTTP2ClientConfiguration()
        configuration.connectTimeout = attack.code == .timedOut ? .milliseconds(500) : .seconds(60)
        let client = try await TestClient(
            loop: clientLoop,
            context: certificate.clientContext(),
            port: port,
            configuration: configuration
        )
        let records = try await client.recordsUntilEnd()
        guard case .closed(let error)? = records.last else { return #expect(Bool(false)) }
        #expect(error?.code == attack.code)
        // Its end is the server's doing.
        #expect(!records.contains { if case .exhausted = $0 { true } else { false } })
        // A loop that ends keeps what is open.
        _ = try await peer.ends.next()
        try await serverLoop.perform { listener.value.close() }
        await clientLoop.shutDown()
        await serverLoop.shutDown()
    }

    @Test("what is submitted when the peer's end was read with its last answer is not sent")
    func answerAndEnd() async throws {
        let certificate = try TestCertificate.shared.get()
        let serverLoop = try EventLoop(name: "test-server")
        let clientLoop = try EventLoop(name: "test-client")
        let answer = RawFrame.headers(stream: 1, ends: true, RawFrame.ok)
        let peer = ScriptedPeer(loop: serverLoop, [RawFrame.settings()], lastAnswer: answer)
        let (port, listener) = try await peer.listen(certificate.serverContext())
        let headers = try SharedHeaders(authority: "localhost", fields: [])
        let client = try await TestClient(
            loop: clientLoop,
            context: certificate.clientContext(),
            port: port,
            onResponse: { _ = try? $0.submit(tag: 2, headers: headers, path: "/", body: nil) }
        )
        _ = try await client.waitUntilOpen()
        let hasEnded = DispatchSemaphore(value: 0)
        try await client.onLoop { connection in
            _ = try? connection.submit(tag: 1, headers: headers, path: "/", body: nil)
            // After the request has left: the loop sees the answer and the end together.
            connection.loop.execute { hasEnded.wait() }
        }
        _ = try await peer.ends.next()
        hasEnded.signal()
        let records = try await client.recordsUntilEnd()
        #expect(records.contains { if case .responded(1, _) = $0 { true } else { false } })
        #expect(!records.contains { if case .failed = $0 { true } else { false } })
        try await serverLoop.perform { listener.value.close() }
        await clientLoop.shutDown()
        await serverLoop.shutDown()
    }

    @Test("a server goes on to serve others while hostile clients come and go")
    func clients() async throws {
        try await withServer { server, certificate in
            let loop = try EventLoop(name: "test-hostile")
            let opening = RawFrame.preface + RawFrame.settings() + RawFrame.settingsAcknowledgement
            let resets = (0..<2000 as Range<UInt32>).flatMap {
                RawFrame.headers(stream: $0 * 2 + 1, ends: false, RawFrame.request)
                    + RawFrame.reset(stream: $0 * 2 + 1, code: 8)
            }
            let attacks: [[[UInt8]]] = [
                [RawFrame.text(100_000)], [opening, resets], [opening, RawFrame.data(stream: 0, [1])],
                [opening, (0..<5000).flatMap { _ in RawFrame.settings() }],
                [opening, RawFrame.headers(stream: 1, ends: true, [0x80])],
            ]
            for attack in attacks {
                let hostile = ScriptedPeer(loop: loop, attack)
                try await hostile.connect(certificate.clientContext(), port: server.port)
                // The server is rid of it …
                _ = try await hostile.ends.next()
                // … and serves the next.
                let client = try await TestClient(loop: loop, context: certificate.clientContext(), port: server.port)
                _ = try await client.waitUntilOpen()
                _ = try await client.submit(1)
                #expect(try await client.outcome(1).get().status == 200)
                try await client.close()
                #expect(try await client.end() == nil)
            }
            await loop.shutDown()
        }
    }
}
