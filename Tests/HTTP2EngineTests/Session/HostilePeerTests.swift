import HTTP2TestSupport
import Testing

@testable import HTTP2Engine

@Suite("Peers that break the protocol or mean no good, in memory", .bothSessions)
struct HostilePeerTests {
    private func client() throws -> any ClientSession {
        let client = try FrameSessions.client(BothSessions.implementation, maximumBody: 1000, maximumHeaders: 1000)
        while try client.nextOutput() != nil {}
        return client
    }

    private func server() throws -> NGHTTP2ServerSession {
        let server = try NGHTTP2ServerSession(maximumConcurrentStreams: 100, maximumBody: 1000, maximumHeaders: 1000)
        let begin = RawFrame.preface + RawFrame.settings() + RawFrame.frame(type: 4, flags: 1)
        try begin.withUnsafeBytes { try server.receive($0) }
        while try server.nextOutput() != nil {}
        return server
    }

    @Test("a flood of pings whose answers are not read ends the connection")
    func pingFlood() throws {
        let client = try client()
        let begin = RawFrame.settings()
        try begin.withUnsafeBytes { try client.receive($0) }
        let flood = (0..<3000).flatMap { RawFrame.ping(UInt8(truncatingIfNeeded: $0)) }
        let error = #expect(throws: HTTP2Error.self) { try flood.withUnsafeBytes { try client.receive($0) } }
        #expect(error?.code == .flooded)
    }

    /// Whether the client has given up the connection after these bytes.
    private func ends(_ client: any ClientSession, after bytes: [UInt8]) throws -> Bool {
        try bytes.withUnsafeBytes { try client.receive($0) }
        while try client.nextOutput() != nil {}
        return client.isFinished
    }

    private func submit(_ count: Int, to client: any ClientSession) throws {
        let request = OutgoingRequest(headers: try SharedHeaders(authority: "a", fields: []), body: nil)
        for tag in 1...count { _ = try client.submit(request, tag: UInt64(tag), pathSuffix: Array("/".utf8).span) }
        while try client.nextOutput() != nil {}
    }

    @Test("a server that begins with something else than SETTINGS is left")
    func noSettings() throws {
        #expect(try ends(client(), after: RawFrame.ping(1)))
    }

    @Test("a pushed stream is refused, and the same one again ends the connection")
    func pushedTwice() throws {
        let client = try client()
        #expect(try !ends(client, after: RawFrame.settings()))
        try submit(1, to: client)
        let push = RawFrame.frame(type: 5, flags: 4, stream: 1, RawFrame.bytes(UInt32(2)) + RawFrame.request)
        #expect(try !ends(client, after: push))
        #expect(try ends(client, after: push))
    }

    @Test("an answer that ends before its announced length fails")
    func shortBody() throws {
        let client = try client()
        #expect(try !ends(client, after: RawFrame.settings()))
        try submit(1, to: client)
        let block = RawFrame.ok + RawFrame.field("content-length", "5")
        let answer = RawFrame.headers(stream: 1, ends: false, block) + RawFrame.data(stream: 1, [1])
        #expect(try !ends(client, after: answer))
        var failed = false
        client.takeEvents { if case .failed(1, .reset(.protocolError)) = $0 { failed = true } }
        #expect(failed)
    }

    @Test("a server that sends more than the connection's window, and reads nothing, is left")
    func connectionWindow() throws {
        let client = try client()
        #expect(try !ends(client, after: RawFrame.settings()))
        try submit(40, to: client)
        // No stream gets more than its own window. Nobody reads the updates of the connection's.
        let bytes = stride(from: UInt32(1), to: 80, by: 2).flatMap { stream in
            RawFrame.headers(stream: stream, ends: false, RawFrame.ok)
                + (0..<4).flatMap { _ in RawFrame.data(stream: stream, ends: false, RawFrame.text(16_000)) }
        }
        #expect(try ends(client, after: bytes))
    }

    @Test("a flood of settings whose acknowledgements are not read ends the connection")
    func settingsFlood() throws {
        let server = try server()
        let flood = (0..<3000).flatMap { _ in RawFrame.settings([(4, 65_535)]) }
        let error = #expect(throws: HTTP2Error.self) { try flood.withUnsafeBytes { try server.receive($0) } }
        #expect(error?.code == .flooded)
    }

    @Test("a client that opens and resets streams without end is sent away")
    func rapidReset() throws {
        let server = try server()
        var stream: UInt32 = 1
        var handedOver = 0
        for _ in 0..<100 {
            var bytes: [UInt8] = []
            for _ in 0..<50 {
                bytes += RawFrame.headers(stream: stream, ends: true, RawFrame.request)
                bytes += RawFrame.reset(stream: stream, code: 8)
                stream += 2
            }
            try bytes.withUnsafeBytes { try server.receive($0) }
            server.takeRequests { _ in handedOver += 1 }
            while try server.nextOutput() != nil {}
            #expect(server.openStreams == 0)
        }
        #expect(server.isFinished)
        #expect(handedOver == 0)
    }

    @Test(
        "a client that goes on on a stream that is closed hears so (RFC 9113 §5.1)",
        arguments: [
            RawFrame.headers(stream: 1, ends: true, RawFrame.request) + RawFrame.data(stream: 1, [1]),
            RawFrame.headers(stream: 1, ends: true, RawFrame.request)
                + RawFrame.headers(stream: 1, ends: true, RawFrame.request),
            RawFrame.headers(stream: 1, ends: false, RawFrame.request) + RawFrame.reset(stream: 1, code: 8)
                + RawFrame.data(stream: 1, [1]),
            RawFrame.headers(stream: 1, ends: false, RawFrame.request) + RawFrame.reset(stream: 1, code: 8)
                + RawFrame.headers(stream: 1, ends: true, RawFrame.request),
        ],
        [false, true]
    )
    func closedStream(bytes: [UInt8], isAnswered: Bool) throws {
        let server = try server()
        let first = try #require(RawFrame.split(bytes).first)
        try first.withUnsafeBytes { try server.receive($0) }
        server.takeRequests { _ in }
        if isAnswered {
            _ = try server.respond(stream: 1, status: 200, fields: [], body: nil)
            while try server.nextOutput() != nil {}
        }
        try bytes.dropFirst(first.count).withUnsafeBytes { try server.receive($0) }
        var sent: [UInt8] = []
        while let output = try server.nextOutput() { sent += output }
        #expect(RawFrame.read(sent).last?.errorCode == .streamClosed, "\(RawFrame.read(sent))")
    }

    @Test("bytes that are no HTTP/2 at all are an error for a server")
    func noPreface() throws {
        let server = try NGHTTP2ServerSession(maximumConcurrentStreams: 100, maximumBody: 1000, maximumHeaders: 1000)
        let bytes = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        let error = #expect(throws: HTTP2Error.self) { try bytes.withUnsafeBytes { try server.receive($0) } }
        #expect(error?.code == .violation)
    }

    @Test(
        "frames that the protocol forbids end the session with a GOAWAY and a reason",
        arguments: [
            RawFrame.settings() + RawFrame.data(stream: 0, [1]),
            RawFrame.settings() + RawFrame.frame(type: 6, stream: 1, [UInt8](repeating: 0, count: 8)),
            RawFrame.settings() + RawFrame.headers(stream: 2, ends: true, [0x88]),
            RawFrame.settings([(2, 7)]),
            RawFrame.settings() + RawFrame.frame(type: 8, [0, 0, 0, 0]),
        ]
    )
    func violation(bytes: [UInt8]) throws {
        let client = try client()
        try bytes.withUnsafeBytes { try client.receive($0) }
        var sent: [UInt8] = []
        while let output = try client.nextOutput() { sent += output }
        #expect(client.isFinished)
        #expect(client.violation != nil)
        // The last frame is a GOAWAY.
        #expect(RawFrame.read(sent).last?.type == 7)
    }

    @Test(
        "an answer that is malformed fails its stream alone",
        arguments: [[RawFrame.field("no-status", "1")], [[0x88], RawFrame.field("Upper", "1")]]
    )
    func malformedAnswer(block: [[UInt8]]) throws {
        let client = try client()
        let request = OutgoingRequest(headers: try SharedHeaders(authority: "a", fields: []), body: nil)
        let stream = UInt32(try client.submit(request, tag: 1, pathSuffix: Array("/".utf8).span))
        while try client.nextOutput() != nil {}
        let bytes = RawFrame.settings() + RawFrame.headers(stream: stream, ends: true, block.flatMap { $0 })
        try bytes.withUnsafeBytes { try client.receive($0) }
        while try client.nextOutput() != nil {}
        var failed = false
        client.takeEvents { if case .failed(1, .reset(.protocolError)) = $0 { failed = true } }
        #expect(failed)
        #expect(!client.isFinished)
    }
}
