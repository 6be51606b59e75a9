import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

@testable import HTTPAPI

/// A server on a real socket, and callers that write what bytes they like.
struct RawServer {
    let service: RecordingService
    let port: Int

    /// What came back, up to the end of the connection.
    struct Exchange {
        let text: String

        /// The statuses of the answers, in order; bodies of this API hold no such line.
        var statuses: [Int] {
            text.matches(of: #/HTTP/1\.[01] ([0-9]{3}) /#).compactMap { Int($0.output.1) }
        }
    }

    /// Lends a server that has little patience with callers who stop in the middle.
    ///
    /// - `keys`: those that it knows; nil: as ``RecordingService`` has it.
    /// - `patience`: for a head, and for an exchange. A busy machine must not make an honest caller look like a slow
    ///   one.
    static func with(
        keys: Set<String>? = nil,
        patience: Duration = .seconds(10),
        _ body: (RawServer) async throws -> Void
    ) async throws {
        var configuration = HTTPServerConfiguration { $0.port = 0 }
        configuration.connectionTimes = ConnectionTimes(head: patience, idle: patience, exchange: patience)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let service = RecordingService(keys: keys)
        let server = HTTPServer(
            service: service,
            configuration: configuration,
            metrics: PrometheusMetrics(),
            onListening: { listening.yield($0.port) },
            logger: logger
        )
        let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            var iterator = ports.makeAsyncIterator()
            guard let port = await iterator.next() else { throw ChannelError.alreadyClosed }
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(RawServer(service: service, port: port)))
            } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            try result.get()
        }
    }

    /// Sends all bytes at once and reads until the server closes.
    ///
    /// - Throws: ``ConnectionLeftOpen``.
    func exchange(_ bytes: [UInt8]) async throws -> Exchange {
        try await untilClosed { try await converse(bytes) }
    }

    private func converse(_ bytes: [UInt8]) async throws -> Exchange {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var text = ""
            do {
                // A server that has had enough may close before all is written, which is an answer, too.
                try await outbound.write(ByteBuffer(bytes: bytes))
                for try await buffer in inbound { text += String(buffer: buffer) }
            } catch is IOError {
            } catch is ChannelError {
            }
            return Exchange(text: text)
        }
    }

    func exchange(_ text: String) async throws -> Exchange { try await exchange(Array(text.utf8)) }

    /// Whether it still answers as ever. On a busy machine its short patience may hit an honest caller, who asks again.
    func isWell() async throws -> Bool {
        let request = "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        for _ in 0..<10 where try await exchange(request).statuses == [200] { return true }
        return false
    }
}
