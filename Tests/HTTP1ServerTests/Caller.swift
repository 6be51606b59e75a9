import HTTP1Server
import NIOCore
import NIOHTTP1
import NIOPosix

/// A caller on a real socket, who writes what bytes it likes.
struct Caller {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Connects, lends the connection, and closes it.
    static func with<Result: Sendable>(
        _ port: Int,
        _ body: (inout Conversation) async throws -> Result
    ) async throws -> Result {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.allowRemoteHalfClosure, value: true)
            // As little as possible is read ahead.
            .channelOption(.socketOption(.so_rcvbuf), value: 4_096)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(isOutboundHalfClosureEnabled: true)
                    )
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var conversation = Conversation(inbound: inbound.makeAsyncIterator(), outbound: outbound)
            return try await body(&conversation)
        }
    }

    struct Conversation {
        var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        /// What has been read.
        private(set) var text = ""

        init(
            inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
            outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
        ) {
            self.inbound = inbound
            self.outbound = outbound
        }

        func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

        /// Sends no more.
        func finish() { outbound.finish() }

        /// Reads some more bytes. False at the end of the connection; a reset is an end, too.
        mutating func read() async throws -> Bool {
            do {
                guard let bytes = try await inbound.next(isolation: #isolation) else { return false }
                text += String(buffer: bytes)
                return true
            } catch is IOError {
                return false
            }
        }

        mutating func read(until part: String) async throws {
            while !text.contains(part), try await read() {}
        }

        mutating func readToEnd() async throws -> String {
            while try await read() {}
            return text
        }
    }
}

/// Lends a listener, and stops it.
func withListener<Result: Sendable>(
    maximumConnections: Int = .max,
    _ responder: @escaping HTTP1Connection.Responder,
    _ body: (Int, Task<Void, any Error>) async throws -> Result
) async throws -> Result {
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    let listener = HTTP1Listener(
        host: "127.0.0.1",
        port: 0,
        maximumConnections: maximumConnections,
        connection: HTTP1Connection(responder: responder)
    ) { port in listening.yield(port) }
    let running = Task { try await listener.run() }
    defer { running.cancel() }
    var iterator = ports.makeAsyncIterator()
    guard let port = await iterator.next() else { throw ChannelError.alreadyClosed }
    return try await body(port, running)
}
