import HTTPTypes
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import Testing

@testable import HTTP1Server

@Suite("A listener", .timeLimit(.minutes(2)))
struct ListenerTests {
    private static let last = "GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

    private static func text(_ text: String) -> HTTPAnswer {
        HTTPAnswer(status: .ok, body: .bytes(ByteBuffer(string: text)))
    }

    @Test("answers pipelined requests in their order, one at a time")
    func pipeline() async throws {
        let open = Atomic(0)
        let responder: HTTP1Connection.Responder = { call in
            #expect(open.add(1, ordering: .relaxed).newValue == 1)
            await Task.yield()
            open.subtract(1, ordering: .relaxed)
            return Self.text("<\(call.path)>")
        }
        let text = try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send((0..<100).map { Self.get("/\($0)") }.joined() + Self.last)
                return try await caller.readToEnd()
            }
        }
        #expect(text.matches(of: #/<\/(.*?)>/#).map { String($0.output.1) } == (0..<100).map(String.init) + ["last"])
    }

    @Test("hands over the path and the query of a request, also of a whole address")
    func targets() async throws {
        let targets = ["/a%20b?c=d", "http://host:80/a?b", "http://host?b", "http://host", "/a?", "/?b?c#d"]
        let text = try await withListener({ Self.text("<\($0.path) \($0.query ?? "-")>") }) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send(targets.map(Self.get).joined() + Self.last)
                return try await caller.readToEnd()
            }
        }
        #expect(
            text.matches(of: #/<(.*?)>/#).map { String($0.output.1) }
                == ["/a%20b c=d", "/a b", "/ b", "/ -", "/a ", "/ b?c", "/last -"]
        )
    }

    @Test("answers a caller who has closed its side, and then closes")
    func halfClosed() async throws {
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let responder: HTTP1Connection.Responder = { _ in
            for await _ in answers { break }
            return Self.text("late")
        }
        let text = try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send(Self.get("/"))
                caller.finish()
                answer.yield()
                return try await caller.readToEnd()
            }
        }
        #expect(text.hasSuffix("\r\n\r\nlate"))
    }

    @Test("reads no more than asked of a body, skips the rest, and takes the next request")
    func bodies() async throws {
        let responder: HTTP1Connection.Responder = { call in
            do {
                return Self.text("<\(try await call.body(upTo: 10).readableBytes)>")
            } catch let error as BodyTooLarge {
                return Self.text("<over \(error.limit)>")
            }
        }
        func post(_ size: Int) -> String {
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n" + String(repeating: "x", count: size)
        }
        let text = try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send(post(10) + post(11) + post(1 << 20) + post(0) + Self.last)
                return try await caller.readToEnd()
            }
        }
        #expect(text.matches(of: #/<(.*?)>/#).map { String($0.output.1) } == ["10", "over 10", "over 10", "0", "0"])
    }

    @Test("tells the reader of a body that no more comes, and answers 400")
    func halfABody() async throws {
        let (errors, failing) = AsyncStream.makeStream(of: String.self)
        let responder: HTTP1Connection.Responder = { call in
            do {
                return Self.text("\(try await call.body(upTo: 100))")
            } catch {
                failing.yield("\(error)")
                throw error
            }
        }
        let text = try await withListener(responder) { port, _ in
            let text = try await Caller.with(port) { caller in
                try await caller.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
                caller.finish()
                return try await caller.readToEnd()
            }
            var iterator = errors.makeAsyncIterator()
            #expect(await iterator.next()?.isEmpty == false)
            return text
        }
        #expect(text.hasPrefix("HTTP/1.1 400 "))
    }

    @Test("makes no more answers for a caller who reads none")
    func slowReader() async throws {
        let count = Atomic(0)
        let size = 1 << 20
        let responder: HTTP1Connection.Responder = { _ in
            count.add(1, ordering: .relaxed)
            return Self.text(String(repeating: "x", count: size))
        }
        try await withListener(responder) { port, _ in
            try await Caller.with(port) { caller in
                try await caller.send((0..<200).map { Self.get("/\($0)") }.joined())
                // What the kernel and the caller's own buffers hold is a few answers long.
                while caller.text.utf8.count < 20 * size {
                    #expect(try await caller.read())
                    #expect(count.load(ordering: .relaxed) < caller.text.utf8.count / size + 30)
                }
            }
        }
    }

    @Test("breaks a stream off if it fails, so that the caller knows that it is not whole")
    func brokenStream() async throws {
        struct Broken: Error {}
        let responder: HTTP1Connection.Responder = { call in
            HTTPAnswer(
                status: .ok,
                body: .stream { writer in
                    try await writer.write(ByteBuffer(string: "part"))
                    if call.path == "/broken" { throw Broken() }
                }
            )
        }
        for (path, isWhole) in [("/broken", false), ("/whole", true)] {
            let text = try await withListener(responder) { port, _ in
                try await Caller.with(port) { caller in
                    try await caller.send("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    return try await caller.readToEnd()
                }
            }
            #expect(text.contains("\r\n\r\n4\r\npart\r\n"))
            #expect(text.hasSuffix("0\r\n\r\n") == isWhole)
        }
    }

    @Test("leaves further callers waiting while it has as many as it may")
    func limit() async throws {
        let paths = Mutex<[String]>([])
        let responder: HTTP1Connection.Responder = { call in
            paths.withLock { $0.append(call.path) }
            return Self.text("<\(call.path)>")
        }
        try await withListener(maximumConnections: 1, responder) { port, _ in
            try await Caller.with(port) { first in
                try await first.send(Self.get("/first"))
                try await first.read(until: "</first>")
                try await Caller.with(port) { second in
                    try await second.send(Self.last)
                    for number in 0..<100 {
                        try await first.send(Self.get("/\(number)"))
                        try await first.read(until: "</\(number)>")
                    }
                    first.finish()
                    _ = try await first.readToEnd()
                    #expect(try await second.readToEnd().hasSuffix("</last>"))
                }
            }
        }
        #expect(paths.withLock { $0.firstIndex(of: "/last") } == 101)
    }

    @Test("serves hundreds of connections at the same time")
    func manyConnections() async throws {
        let count = 300
        let (arrivals, arriving) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let responder: HTTP1Connection.Responder = { _ in
            arriving.yield()
            for await _ in answers { break }
            return Self.text("all")
        }
        try await withListener(responder) { port, _ in
            try await withThrowingTaskGroup(of: Bool.self) { callers in
                for _ in 0..<count {
                    callers.addTask {
                        try await Caller.with(port) { caller in
                            try await caller.send(Self.last)
                            return try await caller.readToEnd().hasSuffix("all")
                        }
                    }
                }
                var iterator = arrivals.makeAsyncIterator()
                for _ in 0..<count { await iterator.next() }
                answer.finish()
                for try await isAnswered in callers { #expect(isAnswered) }
            }
        }
    }

    @Test("closes idle connections when it stops, and returns when the open requests are answered")
    func graceful() async throws {
        let (arrivals, arriving) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let connection = HTTP1Connection { call in
            if call.path == "/slow" {
                arriving.yield()
                for await _ in answers { break }
            }
            return Self.text("<\(call.path)>")
        }
        let listener = HTTP1Listener(host: "127.0.0.1", port: 0, connection: connection) { listening.yield($0) }
        let group = ServiceGroup(
            configuration: .init(
                services: [listener],
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            )
        )
        async let running: Void = group.run()
        var portIterator = ports.makeAsyncIterator()
        let port = try #require(await portIterator.next())
        async let slow = Caller.with(port) { caller in
            try await caller.send(Self.get("/slow") + Self.get("/behind"))
            return try await caller.readToEnd()
        }
        var arrivalIterator = arrivals.makeAsyncIterator()
        await arrivalIterator.next()
        try await Caller.with(port) { idle in
            try await idle.send(Self.get("/idle"))
            try await idle.read(until: "</idle>")
            await group.triggerGracefulShutdown()
            #expect(try await idle.readToEnd().hasSuffix("</idle>"))
        }
        answer.yield()
        let text = try await slow
        #expect(text.contains("</slow>"))
        #expect(text.contains("connection: close"))
        try await running
        await #expect(throws: (any Error).self) { try await Caller.with(port) { _ in } }
    }

    @Test("closes all connections at once when it is cancelled")
    func cancelled() async throws {
        let (arrivals, arriving) = AsyncStream.makeStream(of: Void.self)
        let responder: HTTP1Connection.Responder = { _ in
            arriving.yield()
            try await Task.sleep(for: .seconds(3_600))
            return Self.text("never")
        }
        try await withListener(responder) { port, running in
            try await Caller.with(port) { caller in
                try await caller.send(Self.get("/"))
                var iterator = arrivals.makeAsyncIterator()
                await iterator.next()
                running.cancel()
                #expect(try await caller.readToEnd() == "")
            }
            try await running.value
        }
    }
}
