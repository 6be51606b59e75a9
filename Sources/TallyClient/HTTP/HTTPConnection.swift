import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TLSEngine

/// One connection to the server, for one request at a time.
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

    func close() { channel.close(promise: nil) }

    /// Whether the connection is open, as far as the client knows.
    var isOpen: Bool { channel.isActive }

    // MARK: Opening

    /// A connection attempt to one of the server's addresses. Several may run in parallel (RFC 8305); the first to
    /// connect wins.
    private struct Attempt: Sendable {
        let channel: any Channel
        let reader: NIOLoopBound<AnswerReader>
        /// Fulfilled once the server has proved its identity; immediately over plain HTTP.
        let secured: EventLoopFuture<Void>

        /// Adds TLS and HTTP handlers to a new channel. Runs on the channel's loop.
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

    /// Connects. With `tls`, it also checks the server's certificate.
    ///
    /// `resolver` finds the server's addresses; nil: the system does.
    ///
    /// - Throws: The error of the system or of TLS. The server has received no request.
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
                // Cannot happen: every connected channel has been through the initializer.
                preconditionFailure("a channel without handlers")
            }
            let connection = HTTPConnection(channel, kept.reader)
            try await kept.secured.get()
            return connection
        } onCancel: {
            for attempt in attempts.withLock({ $0 }) { attempt.channel.close(promise: nil) }
        }
    }

    // MARK: Requests

    /// Sends a request.
    ///
    /// - Returns: The head of the answer. Call ``nextBytes()`` until it returns nil.
    func begin(_ request: HTTPRequest, at server: ServerAddress) async throws -> HTTPResponseHead {
        sendHead(of: request, to: server)
        return try await answerHead()
    }

    /// Sends a request up to the place where a streamed body begins.
    func sendHead(of request: HTTPRequest, to server: ServerAddress) {
        var headers = HTTPHeaders([("Host", server.authority), ("User-Agent", "tally")])
        for header in request.headers { headers.add(name: header.name, value: header.value) }
        if request.streamsBody {
            headers.add(name: "Transfer-Encoding", value: "chunked")
        } else if let body = request.body {
            headers.add(name: "Content-Length", value: String(body.count))
        }
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
        // Ignores a write error, because reading then fails with the same error.
        if request.streamsBody { channel.flush() } else { endBody() }
    }

    /// Waits for the head of the answer.
    func answerHead() async throws -> HTTPResponseHead {
        guard case .head(let answer) = try await nextPart() else { throw Garbled() }
        return answer
    }

    /// Sends a part of a streamed body. Returns when it is handed to the system, which may wait for the server.
    func send(_ part: ByteBuffer) async throws {
        try await withTaskCancellationHandler {
            try await channel.writeAndFlush(HTTPClientRequestPart.body(.byteBuffer(part))).get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Ends a streamed body.
    func endBody() { channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil) }

    /// The next bytes of the body; nil at its end.
    func nextBytes() async throws -> ByteBuffer? {
        switch try await nextPart() {
        case .body(let bytes): return bytes
        case .end: return nil
        case .head: throw Garbled()
        }
    }

    /// An answer that does not follow HTTP's order of parts.
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
