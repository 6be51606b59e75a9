import Glibc
import HTTP2Engine
import HTTP2TestSupport
import Reactor
import Synchronization
import TLSEngine
import Testing

/// A server that keeps every request open.
private let silent: TestServer.Answer = { _, _ in }

@Suite("What can go wrong on a connection", .timeLimit(.minutes(1)), .bothSessions)
struct FaultTests {
    @Test("nobody listens: unreachable, and nothing else is told")
    func refused() async throws {
        let loop = try EventLoop(name: "test-client")
        // A port that was free a moment ago.
        var port: UInt16 = 0
        try await withServer { server, _ in port = server.port }
        let client = try await TestClient(loop: loop, context: .client(), port: port)
        guard case .closed(let error) = try await client.mailbox.next() else {
            Issue.record("something came before the end")
            return
        }
        #expect(error?.code == .unreachable)
        #expect((error?.cause as? ReactorError)?.errno == ECONNREFUSED)
        await loop.shutDown()
    }

    @Test("a name without an address is unreachable")
    func unresolvable() async throws {
        let loop = try EventLoop(name: "test-client")
        // A label has at most 63 characters, so no name server is asked, which may be slow to say no.
        let nobody = String(repeating: "x", count: 64) + ".invalid"
        let client = try await TestClient(loop: loop, context: .client(), host: nobody, port: 443)
        let error = try await client.end()
        #expect(error?.code == .unreachable)
        await loop.shutDown()
    }

    @Test("a server whose authority is not trusted is refused, and sees no request")
    func untrusted() async throws {
        try await withServer { server, _ in
            let loop = try EventLoop(name: "test-client")
            let client = try await TestClient(loop: loop, context: .client(), port: server.port)
            let error = try await client.end()
            #expect(error?.code == .tls)
            #expect((error?.cause as? TLSError)?.code == .untrusted)
            await loop.shutDown()
        }
    }

    @Test("a certificate for another host is refused")
    func wrongHost() async throws {
        try await withServer { server, certificate in
            let loop = try EventLoop(name: "test-client")
            let context = try certificate.clientContext()
            // 127.0.0.2 reaches the same machine, but the certificate does not name it.
            let other = try await TestClient(loop: loop, context: context, host: "127.0.0.2", port: server.port)
            let right = try await TestClient(loop: loop, context: context, host: "127.0.0.1", port: server.port)
            _ = try await right.waitUntilOpen()
            let error = try await other.end()
            // The server listens on 127.0.0.1 only, so a kernel that routes 127.0.0.2 refuses the connection.
            #expect(error?.code == .tls || error?.code == .unreachable)
            try await right.onLoop { $0.drop(nil) }
            await loop.shutDown()
        }
    }

    @Test("a server that accepts and then says nothing is given up in time")
    func mute() async throws {
        let loop = try EventLoop(name: "test-client")
        let address = try #require(SocketAddress(numeric: "127.0.0.1", port: 0))
        let listener = try await loop.perform {
            Result {
                var kept: [Socket] = []
                let listener = try Listener(loop: loop, address: address) { kept.append($0) }
                return LoopBound(listener, to: loop)
            }
        }.get()
        let port = try await loop.perform { listener.value.address.port }
        var configuration = HTTP2ClientConfiguration()
        configuration.connectTimeout = .milliseconds(100)
        let client = try await TestClient(loop: loop, context: .client(), port: port, configuration: configuration)
        #expect(try await client.end()?.code == .timedOut)
        try await loop.perform { listener.value.close() }
        await loop.shutDown()
    }

    @Test("a reset connection fails open requests as lost, then closes")
    func dropped() async throws {
        try await withClientAndServer(answer: { request, responder in
            if request.path == "/2" { responder.connection?.drop() }
        }) { client, server in
            _ = try await client.submit(1, path: "/1")
            _ = try await client.submit(2, path: "/2")
            guard case .failure(let first) = try await client.outcome(1) else { return #expect(Bool(false)) }
            guard case .failure(let second) = try await client.outcome(2) else { return #expect(Bool(false)) }
            #expect(first.failure == .connectionLost)
            #expect(second.failure == .connectionLost)
            #expect(try await client.end()?.code == .lost)
        }
    }

    @Test("what never left this machine is reported as not processed when the owner drops the connection")
    func neverSent() async throws {
        try await withClientAndServer(answer: silent) { client, _ in
            let headers = try SharedHeaders(authority: "localhost", fields: [])
            try await client.onLoop { connection in
                // Dropped in the pass in which it was submitted, before anything is encoded.
                _ = try? connection.submit(tag: 5, headers: headers, path: "/", body: nil)
                connection.drop(nil)
            }
            guard case .failure(let failed) = try await client.outcome(5) else { return #expect(Bool(false)) }
            #expect(failed.failure == .notProcessed)
            #expect(try await client.end() == nil)
        }
    }

    @Test("what left with the connection's last bytes is not reported as never sent")
    func sentLast() async throws {
        try await withClientAndServer(answer: silent) { client, _ in
            let headers = try SharedHeaders(authority: "localhost", fields: [])
            // Enough that they are encoded in the pass in which they are submitted.
            try await client.onLoop { connection in
                for tag in 1...128 as ClosedRange<UInt64> {
                    _ = try? connection.submit(tag: tag, headers: headers, path: "/", body: nil)
                }
                connection.drop(nil)
            }
            for tag in 1...128 as ClosedRange<UInt64> {
                guard case .failure(let failed) = try await client.outcome(tag) else { return #expect(Bool(false)) }
                #expect(failed.failure == .connectionLost)
            }
        }
    }

    @Test("GOAWAY names the last stream: later ones are not processed, earlier ones are answered")
    func goAway() async throws {
        try await withClientAndServer(answer: { request, responder in
            guard request.path == "/3" else {
                // Streams 1 and 3 are answered after the GOAWAY that names 3.
                responder.connection?.loop.schedule(after: .milliseconds(50)) {
                    _ = try? responder.respond(status: 200)
                }
                return
            }
            responder.connection?.goAway(lastStreamID: 3, code: .noError, debugData: Array("moving".utf8))
        }) { client, _ in
            for tag in 1...3 as ClosedRange<UInt64> { _ = try await client.submit(tag, path: "/\(tag)") }
            var notProcessed: [UInt64] = []
            var answered: [UInt64] = []
            var announced = false
            loop: while true {
                switch try await client.mailbox.next() {
                case .goneAway(let last, let code, let data):
                    announced = true
                    #expect(last == 3)
                    #expect(code == .noError)
                    #expect(String(decoding: data, as: UTF8.self) == "moving")
                    #expect(try await client.onLoop { $0.availableStreams } == 0)
                    #expect(try await client.submit(9) == nil)
                case .failed(let tag, let failure):
                    #expect(announced)
                    #expect(failure == .notProcessed)
                    notProcessed.append(tag)
                case .responded(let tag, _): answered.append(tag)
                case .closed(let error):
                    #expect(error == nil)
                    break loop
                default: continue
                }
            }
            #expect(notProcessed == [3])
            #expect(answered.sorted() == [1, 2])
        }
    }

    @Test("GOAWAY with an error code is the reason of the end")
    func goAwayWithError() async throws {
        try await withClientAndServer(answer: { _, responder in
            responder.connection?.goAway(lastStreamID: 0, code: .enhanceYourCalm, debugData: [])
        }) { client, _ in
            _ = try await client.submit(1)
            guard case .failure(let failed) = try await client.outcome(1) else { return #expect(Bool(false)) }
            #expect(failed.failure == .notProcessed)
            #expect(try await client.end()?.code == .goAway)
        }
    }

    @Test(
        "RST_STREAM is told apart by its code",
        arguments: [
            (HTTP2ErrorCode.refusedStream, HTTP2StreamFailure.refused),
            (.internalError, .reset(.internalError)),
            (.enhanceYourCalm, .reset(.enhanceYourCalm)),
            (HTTP2ErrorCode(rawValue: 4711), .reset(HTTP2ErrorCode(rawValue: 4711))),
        ]
    )
    func reset(code: HTTP2ErrorCode, expected: HTTP2StreamFailure) async throws {
        try await withClientAndServer(answer: { _, responder in responder.reset(code) }) { client, _ in
            _ = try await client.submit(1)
            guard case .failure(let failed) = try await client.outcome(1) else { return #expect(Bool(false)) }
            #expect(failed.failure == expected)
            #expect(try await client.onLoop { $0.isOpen })
        }
    }

    @Test("the limit of streams is obeyed when it rises and when it falls")
    func streamLimit() async throws {
        var configuration = HTTP2ServerConfiguration()
        configuration.maximumConcurrentStreams = 1
        try await withClientAndServer(
            server: configuration,
            answer: { request, responder in
                try responder.respond(status: 200)
                if let limit = Int(request.path.dropFirst()) {
                    responder.connection?.setMaximumConcurrentStreams(limit)
                }
            }
        ) { client, _ in
            let headers = try SharedHeaders(authority: "localhost", fields: [])
            let accepted = try await client.onLoop { connection in
                (0..<3).map { (try? connection.submit(tag: $0, headers: headers, path: "/50", body: nil)) != nil }
            }
            #expect(accepted == [true, false, false])
            #expect(try await client.waitUntilOpen() == 50)
            let more = try await client.onLoop { connection in
                (0..<60).count { (try? connection.submit(tag: $0, headers: headers, path: "/", body: nil)) != nil }
            }
            #expect(more == 50)
            while try await client.onLoop({ $0.openStreams }) > 0 { _ = try await client.mailbox.next() }
            _ = try await client.submit(99, path: "/2")
            #expect(try await client.waitUntilOpen() == 2)
            #expect(try await client.onLoop { $0.availableStreams } == 2)
        }
    }

    @Test("our own limit of streams holds where the server allows more")
    func ownLimit() async throws {
        var configuration = HTTP2ClientConfiguration()
        configuration.maximumConcurrentStreams = 3
        try await withClientAndServer(client: configuration, answer: silent) { client, _ in
            let headers = try SharedHeaders(authority: "localhost", fields: [])
            let accepted = try await client.onLoop { connection in
                (0..<10).count { (try? connection.submit(tag: $0, headers: headers, path: "/", body: nil)) != nil }
            }
            #expect(accepted == 3)
            #expect(try await client.onLoop { $0.availableStreams } == 0)
        }
    }

    @Test("a server that does not read delays requests and pings, and goes on when it reads again")
    func pausedReading() async throws {
        try await withClientAndServer { client, server in
            _ = try await server.onConnection { $0.pauseReading() }
            _ = try await client.submit(1)
            let answer = Mailbox<HTTP2Error.Code?>()
            try await client.onLoop { connection in
                connection.ping(timeout: .milliseconds(50)) { result in
                    if case .failure(let error) = result { answer.post(error.code) } else { answer.post(nil) }
                }
            }
            #expect(try await answer.next() == .timedOut)
            #expect(try await client.onLoop { $0.openStreams } == 1)
            _ = try await server.onConnection { $0.resumeReading() }
            #expect(try await client.outcome(1).get().status == 200)
        }
    }

    @Test("a cancelled request is never reported, and its place becomes free")
    func cancel() async throws {
        let arrived = Mailbox<String>()
        try await withClientAndServer(answer: { request, responder in
            arrived.post(request.path)
            if request.path == "/fast" { try responder.respond(status: 200) }
        }) { client, server in
            let slow = try #require(try await client.submit(1, path: "/slow"))
            #expect(try await arrived.next() == "/slow")
            try await client.onLoop { $0.cancel(slow) }
            _ = try await client.submit(2, path: "/fast")
            let response = try await client.outcome(2).get()
            #expect(response.status == 200)
            #expect(try await client.onLoop { $0.openStreams } == 0)
            #expect(try await server.onConnection { $0.openStreams } == 0)
            try await client.close()
            while true {
                switch try await client.mailbox.next() {
                case .failed(let tag, _), .responded(let tag, _): Issue.record("tag \(tag) was reported")
                case .closed: return
                default: continue
                }
            }
        }
    }

    @Test("whoever cancels a request is told when its place is free")
    func cancelFreesPlace() async throws {
        var configuration = HTTP2ServerConfiguration()
        configuration.maximumConcurrentStreams = 1
        let arrived = Mailbox<String>()
        try await withClientAndServer(
            server: configuration,
            answer: { request, responder in
                arrived.post(request.path)
                if request.path == "/fast" { try responder.respond(status: 200) }
            }
        ) { client, _ in
            let slow = try #require(try await client.submit(1, path: "/slow"))
            #expect(try await arrived.next() == "/slow")
            #expect(try await client.submit(2, path: "/fast") == nil)
            try await client.onLoop { $0.cancel(slow) }
            while true {
                if case .streamsFreed = try await client.mailbox.next() { break }
            }
            #expect(try await client.submit(3, path: "/fast") != nil)
            #expect(try await client.outcome(3).get().status == 200)
        }
    }

    @Test("a graceful close waits for open requests")
    func gracefulClose() async throws {
        try await withClientAndServer(answer: { _, responder in
            responder.connection?.loop.schedule(after: .milliseconds(50)) { _ = try? responder.respond(status: 200) }
        }) { client, _ in
            _ = try await client.submit(1)
            try await client.close()
            #expect(try await client.submit(2) == nil)
            #expect(try await client.outcome(1).get().status == 200)
            #expect(try await client.end() == nil)
        }
    }

    @Test("a graceful close gives up after its time")
    func closeTimeout() async throws {
        var configuration = HTTP2ClientConfiguration()
        configuration.closeTimeout = .milliseconds(50)
        try await withClientAndServer(client: configuration, answer: silent) { client, _ in
            _ = try await client.submit(1)
            try await client.close()
            guard case .failure(let failed) = try await client.outcome(1) else { return #expect(Bool(false)) }
            #expect(failed.failure == .connectionLost)
            #expect(try await client.end() == nil)
        }
    }

    @Test("a server closes gracefully: open requests are answered first")
    func serverClose() async throws {
        try await withClientAndServer(answer: { _, responder in
            responder.connection?.close()
            responder.connection?.loop.schedule(after: .milliseconds(50)) { _ = try? responder.respond(status: 200) }
        }) { client, server in
            _ = try await client.submit(1)
            #expect(try await client.outcome(1).get().status == 200)
            #expect(try await client.end() == nil)
            _ = try await server.mailbox.next()
            guard case .closed(1, nil) = try await server.mailbox.next() else { return #expect(Bool(false)) }
        }
    }

    @Test(
        "an answer with a larger body or more headers than allowed fails its request alone",
        arguments: ["body", "headers"]
    )
    func oversized(part: String) async throws {
        var configuration = HTTP2ClientConfiguration()
        configuration.maximumResponseBody = 1000
        configuration.maximumResponseHeaders = 1000
        try await withClientAndServer(
            client: configuration,
            answer: { request, responder in
                let long = String(repeating: "x", count: 1001)
                switch request.path {
                case "/body": try responder.respond(status: 200, body: Array(long.utf8))
                case "/headers": try responder.respond(status: 200, fields: [HTTP2Header("long", long)])
                default: try responder.respond(status: 200, body: Array(long.utf8.dropLast()))
                }
            }
        ) { client, _ in
            _ = try await client.submit(1, path: "/\(part)")
            guard case .failure(let failed) = try await client.outcome(1) else { return #expect(Bool(false)) }
            #expect(failed.failure == .unusableResponse)
            _ = try await client.submit(2, path: "/small")
            #expect(try await client.outcome(2).get().body.count == 1000)
        }
    }

    @Test("a request body above the server's bound is handed over cut and marked")
    func oversizedRequest() async throws {
        var configuration = HTTP2ServerConfiguration()
        configuration.maximumRequestBody = 5000
        try await withClientAndServer(
            server: configuration,
            answer: { request, responder in
                try responder.respond(
                    status: request.isBodyComplete ? 200 : 413,
                    body: Array("\(request.body.count)".utf8)
                )
            }
        ) { client, _ in
            _ = try await client.submit(1, body: [UInt8](repeating: 1, count: 5000))
            let exact = try await client.outcome(1).get()
            #expect(exact.status == 200)
            _ = try await client.submit(2, body: [UInt8](repeating: 1, count: 200_000))
            let cut = try await client.outcome(2).get()
            #expect(cut.status == 413)
            #expect(String(decoding: cut.body, as: UTF8.self) == "5000")
        }
    }
}
