import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import TestSupport
import Testing

@testable import HTTPAPI
import Store

@Suite("Limits of the server", .timeLimit(.minutes(2)))
struct LimitsTests {
    @Test(
        "A traceparent as W3C writes it is taken, anything else is as if it were not there",
        arguments: [
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
            ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", false),
            ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
            ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", false),
            ("", false), ("00", false),
        ]
    )
    func traceParent(text: String, isTaken: Bool) async throws {
        #expect((TraceParent(text) != nil) == isTaken)
        let api = API()
        _ = try await api.send(.get, "/v1/apps", headers: [.traceParent: text])
        let isLogged = api.log.all.contains { $0.contains("trace.id=0af7651916cd43dd8448eb211c80319c") }
        #expect(isLogged == isTaken)
    }

    @Test("Who sends a head or a body byte by byte is cut off; who asks and waits for the answer is not")
    func slowSenders() async throws {
        var configuration = HTTPServerConfiguration { $0.port = 0 }
        // A busy machine must not make an honest caller look like a slow one.
        configuration.connectionTimes = ConnectionTimes(head: .seconds(6), idle: .seconds(6), exchange: .seconds(6))
        try await Self.withServer(configuration) { port in
            let head = "GET /health/live HTTP/1.1\r\nHost: a\r\nX: "
            let body =
                "POST /v1/api-keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin\r\n"
                + "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for begin in ["", head, body] {
                    tasks.addTask {
                        let bytes = try await Self.dribble(begin, to: port)
                        #expect(!bytes.contains("200 OK"), "\(begin.prefix(4))")
                    }
                }
                tasks.addTask {
                    let bytes = try await Self.dribble("", to: port, more: false)
                    #expect(bytes == "", "who says nothing is cut off, too")
                }
                try await tasks.waitForAll()
            }
            let whole = try await Self.dribble("GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n", to: port, more: false)
            #expect(whole.contains("200 OK"))
        }
    }

    @Test("When it is told to stop, readiness turns red first, and requests are answered meanwhile")
    func drain() async throws {
        var configuration = HTTPServerConfiguration { $0.port = 0 }
        configuration.drainDelay = .seconds(8)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let group = Self.group(configuration, listening)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            func ask(_ path: String) async throws -> String {
                try await Self.dribble(
                    "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    to: port,
                    more: false
                )
            }
            #expect(try await ask("/health/ready").contains("200 OK"))
            await group.triggerGracefulShutdown()
            // The signal takes a moment to arrive; what follows it must come while connections are still taken.
            var answer = try await ask("/health/ready")
            while answer.contains("200 OK") { answer = try await ask("/health/ready") }
            #expect(answer.contains("503"))
            #expect(answer.contains("stopping"))
            #expect(try await ask("/health/live").contains("200 OK"))
            try await tasks.waitForAll()
        }
    }

    // MARK: Raw connections

    /// Sends `begin`, then a byte every tenth of a second, if there is `more`; returns all that came back when the
    /// server has closed.
    ///
    /// - Throws: ``ConnectionLeftOpen``.
    private static func dribble(_ begin: String, to port: Int, more: Bool = true) async throws -> String {
        try await untilClosed { try await converse(begin, with: port, more: more) }
    }

    private static func converse(_ begin: String, with port: Int, more: Bool) async throws -> String {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    try await outbound.write(ByteBuffer(string: begin))
                    // The write fails when the server has closed, which is what is waited for.
                    while more {
                        try await Task.sleep(for: .milliseconds(100))
                        do { try await outbound.write(ByteBuffer(string: "x")) } catch { return }
                    }
                }
                var text = ""
                do {
                    for try await buffer in inbound {
                        text += String(buffer: buffer)
                        if !more, text.contains("\r\n\r\n") { break }
                    }
                } catch is IOError {
                    // A reset is an end, too.
                }
                tasks.cancelAll()
                return text
            }
        }
    }

    private static func group(
        _ configuration: HTTPServerConfiguration,
        _ listening: AsyncStream<Int>.Continuation
    ) -> ServiceGroup {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let server = HTTPServer(
            service: RecordingService(),
            configuration: configuration,
            metrics: PrometheusMetrics(),
            onListening: { listening.yield($0.port) },
            logger: logger
        )
        return ServiceGroup(configuration: .init(services: [server], logger: logger))
    }

    private static func withServer(
        _ configuration: HTTPServerConfiguration,
        _ body: (Int) async throws -> Void
    ) async throws {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let group = group(configuration, listening)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            try await body(try #require(await iterator.next()))
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }
}
