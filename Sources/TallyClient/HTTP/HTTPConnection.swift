import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TLSEngine

/// One connection to the server. One request at a time.
final class HTTPConnection: Sendable {
    private let channel: any Channel
    private let reader: NIOLoopBound<AnswerReader>

    private init(_ channel: any Channel, _ reader: NIOLoopBound<AnswerReader>) {
        self.channel = channel
        self.reader = reader
    }

    deinit {
        channel.close(promise: nil)
    }

    /// Whether the server has not hung up, as far as is known.
    var isOpen: Bool { channel.isActive }

    // MARK: Opening

    /// One address of the server that is being tried. Several may be at a time (RFC 8305), of which one is kept.
    private struct Attempt: Sendable {
        let channel: any Channel
        let reader: NIOLoopBound<AnswerReader>
        /// Fulfilled when the peer at this address has proved who it is; over plain HTTP, at once.
        let secured: EventLoopFuture<Void>

        /// Puts TLS and HTTP into a new channel. On the channel's loop.
        init(_ channel: any Channel, to server: ServerAddress, tls: TLSContext?) throws {
            let pipeline = channel.pipeline.syncOperations
            if let tls {
                let handler = TLSHandler(try TLSSession(client: tls, host: server.host), on: channel.eventLoop)
                secured = handler.secured
                try pipeline.addHandler(handler)
            } else {
                secured = channel.eventLoop.makeSucceededVoidFuture()
            }
            try pipeline.addHTTPClientHandlers()
            let reader = AnswerReader()
            try pipeline.addHandler(reader)
            self.reader = NIOLoopBound(reader, eventLoop: channel.eventLoop)
            self.channel = channel
        }
    }

    /// Connects, and with `tls` also makes sure that the server is who it should be.
    ///
    /// `resolver` finds the server's addresses; nil: the system does.
    ///
    /// - Throws: What the system or TLS says; the server has got no request.
    static func open(
        to server: ServerAddress,
        tls: TLSContext?,
        timeout: Duration,
        resolver: (any Resolver & Sendable)? = nil
    ) async throws -> HTTPConnection {
        let attempts = Mutex<[Attempt]>([])
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .connectTimeout(.nanoseconds(Int64(min(timeout, .seconds(3600)) / .nanoseconds(1))))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .resolver(resolver)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let attempt = try Attempt(channel, to: server, tls: tls)
                    attempts.withLock { $0.append(attempt) }
                }
            }
        return try await withTaskCancellationHandler {
            let channel = try await bootstrap.connect(host: server.host, port: server.port).get()
            guard let kept = attempts.withLock({ all in all.first { $0.channel === channel } }) else {
                // A reason to trap: what connects has been through the initializer.
                preconditionFailure("a channel without handlers")
            }
            let connection = HTTPConnection(channel, kept.reader)
            try await kept.secured.get()
            return connection
        } onCancel: {
            for attempt in attempts.withLock({ $0 }) { attempt.channel.close(promise: nil) }
        }
    }

    // MARK: Asking

    /// Sends a request.
    ///
    /// - Returns: The head of the answer; ``nextBytes()`` has to be called until it gives nil.
    func begin(_ request: HTTPRequest, at server: ServerAddress) async throws -> HTTPResponseHead {
        var headers = HTTPHeaders([("Host", server.authority), ("User-Agent", "tally")])
        for header in request.headers { headers.add(name: header.name, value: header.value) }
        if let body = request.body { headers.add(name: "Content-Length", value: String(body.count)) }
        let head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: request.method),
            uri: server.prefix + request.target,
            headers: headers
        )
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if let body = request.body {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        }
        // Why it cannot be written is what reading fails with as well.
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        guard case .head(let answer) = try await nextPart() else { throw Garbled() }
        return answer
    }

    /// More of the body; nil at its end.
    func nextBytes() async throws -> ByteBuffer? {
        switch try await nextPart() {
        case .body(let bytes): return bytes
        case .end: return nil
        case .head: throw Garbled()
        }
    }

    /// An answer to nothing.
    private struct Garbled: Error {}

    private func nextPart() async throws -> HTTPClientResponsePart {
        try await withTaskCancellationHandler {
            try await channel.eventLoop.flatSubmit { [reader, channel] in
                reader.value.next(on: channel.eventLoop)
            }.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}
