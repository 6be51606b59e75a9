import HTTP2Engine
import HTTP2TestSupport
import Reactor
import Testing

@Suite("Requests over TLS on loopback", .timeLimit(.minutes(1)), .bothSessions)
struct RequestTests {
    @Test("a request arrives as it was sent, and so does its answer")
    func roundTrip() async throws {
        let seen = Mailbox<HTTP2Request>()
        try await withClientAndServer(answer: { request, responder in
            seen.post(request)
            try responder.respond(
                status: 410,
                fields: [HTTP2Header("apns-id", "123"), HTTP2Header("content-type", "application/json")],
                body: Array(#"{"reason":"Unregistered"}"#.utf8)
            )
        }) { client, _ in
            let id = try await client.submit(
                7,
                path: "/3/device/abcd?x=1",
                fields: [HTTP2Header("apns-topic", "com.example"), HTTP2Header("authorization", "bearer x.y.z")],
                extra: [HTTP2Header("apns-collapse-id", "one")],
                body: Array("payload".utf8)
            )
            #expect(id?.number == 1)
            let response = try await client.outcome(7).get()
            #expect(response.status == 410)
            #expect(response.fields["apns-id"] == "123")
            #expect(response.fields["content-type"] == "application/json")
            #expect(response.fields["apns-unique-id"] == nil)
            #expect(String(decoding: response.body, as: UTF8.self) == #"{"reason":"Unregistered"}"#)
            let request = try await seen.next()
            #expect(request.method == "POST")
            #expect(request.path == "/3/device/abcd?x=1")
            #expect(request.authority == "localhost")
            #expect(request.fields["apns-topic"] == "com.example")
            #expect(request.fields["authorization"] == "bearer x.y.z")
            #expect(request.fields["apns-collapse-id"] == "one")
            #expect(request.body == Array("payload".utf8))
            #expect(request.isBodyComplete)
        }
    }

    @Test("ten thousand requests through a limit of 100 streams each get their own answer")
    func manyRequests() async throws {
        var configuration = HTTP2ServerConfiguration()
        configuration.maximumConcurrentStreams = 100
        try await withServer(
            configuration: configuration,
            answer: { request, responder in
                try responder.respond(status: 200, fields: [HTTP2Header("apns-id", String(request.path.dropFirst(3)))])
            }
        ) { server, certificate in
            let loop = try EventLoop(name: "test-client")
            let answers = try await PathEcho.run(
                count: 10_000,
                loop: loop,
                context: certificate.clientContext(),
                port: server.port
            )
            await loop.shutDown()
            #expect(answers.wrong == 0)
            #expect(answers.right == 10_000)
            #expect(answers.mostOpen == 100)
        }
    }

    @Test("bodies larger than every window and buffer pass in both directions")
    func largeBodies() async throws {
        var serverSide = HTTP2ServerConfiguration()
        serverSide.maximumRequestBody = 4 << 20
        var clientSide = HTTP2ClientConfiguration()
        clientSide.maximumResponseBody = 4 << 20
        try await withClientAndServer(
            server: serverSide,
            client: clientSide,
            answer: { request, responder in try responder.respond(status: 200, body: request.body.reversed()) }
        ) { client, _ in
            let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            _ = try await client.submit(1, body: body)
            _ = try await client.submit(2, body: Array(body.prefix(100_000)))
            let small = try await client.outcome(2).get()
            #expect(small.body == body.prefix(100_000).reversed())
            let large = try await client.outcome(1).get()
            #expect(large.body == body.reversed())
        }
    }

    @Test("a full socket is written again as soon as it has room, without a word from the server")
    func backPressure() async throws {
        let arrived = Mailbox<Int>()
        // Neither answers nor window updates: 250 × 30 kB are less than half of each window, and more than the kernel
        // takes.
        try await withClientAndServer(answer: { request, _ in arrived.post(request.body.count) }) { client, server in
            _ = try await server.onConnection { $0.pauseReading() }
            let headers = try SharedHeaders(authority: "localhost", fields: [])
            let body = SharedBytes([UInt8](repeating: 7, count: 30_000))
            try await client.onLoop { connection in
                for tag in 0..<250 as Range<UInt64> {
                    _ = try? connection.submit(tag: tag, headers: headers, path: "/", body: body)
                }
            }
            // Two passes: what the kernel takes is with it, the rest waits for readiness.
            for _ in 0..<2 { _ = try await client.onLoop { $0.openStreams } }
            _ = try await server.onConnection { $0.resumeReading() }
            for _ in 0..<250 { #expect(try await arrived.next() == 30_000) }
        }
    }

    @Test("an answer may be given later, from a timer on the server's loop")
    func laterAnswer() async throws {
        try await withClientAndServer(answer: { request, responder in
            responder.connection?.loop.schedule(after: .milliseconds(20)) {
                _ = try? responder.respond(status: 200, fields: [HTTP2Header("apns-id", request.path)])
            }
        }) { client, _ in
            _ = try await client.submit(1, path: "/late")
            #expect(try await client.outcome(1).get().fields["apns-id"] == "/late")
        }
    }

    @Test("a second answer to the same request, and one after the end, are ignored")
    func doubleAnswer() async throws {
        let results = Mailbox<[Bool]>()
        try await withClientAndServer(answer: { _, responder in
            let first = try responder.respond(status: 200)
            let second = try responder.respond(status: 500)
            responder.connection?.loop.schedule(after: .milliseconds(50)) {
                let third = (try? responder.respond(status: 500)) ?? true
                results.post([first, second, third])
            }
        }) { client, _ in
            _ = try await client.submit(1)
            #expect(try await client.outcome(1).get().status == 200)
            #expect(try await results.next() == [true, false, false])
        }
    }

    @Test("the round-trip time of a ping is measured")
    func ping() async throws {
        try await withClientAndServer { client, _ in
            let answer = Mailbox<Duration?>()
            try await client.onLoop { connection in
                connection.ping(timeout: .seconds(10)) { answer.post(try? $0.get()) }
            }
            let time = try #require(try await answer.next())
            #expect(time > .zero)
        }
    }

    @Test("the server tells of each connection's begin and end")
    func notifications() async throws {
        try await withServer { server, certificate in
            let loop = try EventLoop(name: "test-client")
            for number in 1...3 as ClosedRange<UInt64> {
                let client = try await TestClient(loop: loop, context: certificate.clientContext(), port: server.port)
                _ = try await client.waitUntilOpen()
                guard case .opened(number) = try await server.mailbox.next() else {
                    Issue.record("no opening of \(number)")
                    continue
                }
                try await client.close()
                #expect(try await client.end() == nil)
                guard case .closed(number, nil) = try await server.mailbox.next() else {
                    Issue.record("no orderly end of \(number)")
                    continue
                }
            }
            await loop.shutDown()
        }
    }
}
