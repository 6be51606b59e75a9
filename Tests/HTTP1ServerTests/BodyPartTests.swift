import HTTPTypes
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import Testing

@testable import HTTP1Server

@Suite("A body that is read part by part", .timeLimit(.minutes(2)))
struct BodyPartTests {
    private static let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static func chunk(_ text: String) -> String {
        "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
    }

    /// Answers each part with its text.
    private static let echo: HTTP1Connection.Responder = { call in
        HTTPAnswer(
            status: .ok,
            body: .stream { writer in
                while let part = try await call.bodyPart(keeping: 1_000) {
                    try await writer.write(ByteBuffer(string: "<\(String(buffer: part))>"))
                }
                try await writer.write(ByteBuffer(string: "<end>"))
            }
        )
    }

    @Test("is answered while it is sent, and the connection takes the next request")
    func inParallel() async throws {
        let text = try await withListener(Self.echo) { port, _ in
            try await Caller.with(port) { caller in
                for round in 1...2 {
                    try await caller.send(Self.head)
                    for part in ["one", "two", "three"] {
                        try await caller.send(Self.chunk("\(part)-\(round)"))
                        try await caller.read(until: "<\(part)-\(round)>")
                    }
                    try await caller.send("0\r\n\r\n")
                }
                caller.finish()
                return try await caller.readToEnd()
            }
        }
        #expect(
            text.matches(of: #/<(.*?)>/#).map { String($0.output.1) } == [
                "one-1", "two-1", "three-1", "end", "one-2", "two-2", "three-2", "end",
            ]
        )
    }

    @Test("gives what has arrived to a reader that does not wait, once, and nothing when it is stopped")
    func arrived() {
        var body = IncomingBody()
        func take() -> String { String(buffer: body.takeArrived(keeping: 10)) }
        #expect(take().isEmpty)
        _ = body.append(ByteBuffer(string: "one"))
        _ = body.append(ByteBuffer(string: "two"))
        #expect(take() == "onetwo")
        #expect(take().isEmpty)
        #expect(body.takesMore)
        _ = body.append(ByteBuffer(string: "0123456789"))
        #expect(!body.takesMore)
        _ = body.stop()
        #expect(take().isEmpty)
    }

    @Test("is read no further than its reader wants")
    func backPressure() async throws {
        let most = 100_000
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        let sizes = Mutex<[Int]>([])
        let responder: HTTP1Connection.Responder = { call in
            HTTPAnswer(
                status: .ok,
                body: .stream { writer in
                    while let part = try await call.bodyPart(keeping: most) {
                        sizes.withLock { $0.append(part.readableBytes) }
                        try await writer.write(ByteBuffer(string: "<part>"))
                        for await _ in gates { break }
                    }
                }
            )
        }
        let size = 20 << 20
        try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                let outbound = caller.outbound
                let body = Self.chunk(String(repeating: "x", count: size))
                async let upload: Void = outbound.write(ByteBuffer(string: Self.head + body + "0\r\n\r\n"))
                try await caller.read(until: "<part>")
                // From now on the reader may have whatever it wants.
                gate.finish()
                try await caller.read(until: "\r\n0\r\n\r\n")
                try await upload
            }
        }
        let all = sizes.withLock { $0 }
        #expect(all.reduce(0, +) == size)
        // What one turn of the event loop brings may come on top: four reads of the socket, by the defaults of NIO.
        #expect(all.allSatisfy { $0 <= most + 4 * (64 << 10) })
    }

    @Test("ends for its reader when the server reads no more, and the caller gets the whole answer")
    func stopped() async throws {
        let (calls, arriving) = AsyncStream.makeStream(of: HTTPCall.self)
        let responder: HTTP1Connection.Responder = { call in
            arriving.yield(call)
            return try await Self.echo(call)
        }
        let text = try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send(Self.head + Self.chunk("one"))
                try await caller.read(until: "<one>")
                var iterator = calls.makeAsyncIterator()
                let call = try #require(await iterator.next())
                call.stopReading()
                try await caller.read(until: "<end>")
                // The rest is read and forgotten.
                try await caller.send(Self.chunk("two") + "0\r\n\r\n" + Self.head + "0\r\n\r\n")
                caller.finish()
                return try await caller.readToEnd()
            }
        }
        #expect(text.matches(of: #/<(.*?)>/#).map { String($0.output.1) } == ["one", "end", "end"])
    }

    @Test("A caller that still sends when the server stops reads the end of the answer", .timeLimit(.minutes(1)))
    func shutdown() async throws {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        // The answer ends before the request does, and before the server stops.
        let connection = HTTP1Connection { _ in HTTPAnswer(status: .ok, body: .bytes(ByteBuffer(string: "<early>"))) }
        let listener = HTTP1Listener(host: "127.0.0.1", port: 0, connection: connection) { listening.yield($0) }
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let group = ServiceGroup(configuration: .init(services: [listener], logger: logger))
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        let isOpen = try await Caller.with(port) { caller in
            try await caller.send(Self.head)
            try await caller.read(until: "<early>")
            await group.triggerGracefulShutdown()
            _ = try await caller.readToEnd()
            // A connection that was closed completely would be reset by one of these.
            for _ in 0..<20 { try await caller.send(Self.chunk("late")) }
            return true
        }
        #expect(isOpen)
        try await running
    }

    @Test("that breaks off is an error behind what has arrived")
    func cut() async throws {
        let seen = Mutex<[String]>([])
        let (ends, ending) = AsyncStream.makeStream(of: Void.self)
        let responder: HTTP1Connection.Responder = { call in
            HTTPAnswer(
                status: .ok,
                body: .stream { _ in
                    do {
                        while let part = try await call.bodyPart(keeping: 1_000) {
                            seen.withLock { $0.append(String(buffer: part)) }
                        }
                        seen.withLock { $0.append("end") }
                    } catch {
                        seen.withLock { $0.append("error") }
                        ending.yield()
                        throw error
                    }
                    ending.yield()
                }
            )
        }
        try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send(Self.head + Self.chunk("one"))
                caller.finish()
                var iterator = ends.makeAsyncIterator()
                await iterator.next()
            }
        }
        #expect(seen.withLock { $0 } == ["one", "error"])
    }
}
