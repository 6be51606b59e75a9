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

    func close() {
        channel.close(promise: nil)
    }

    // MARK: Opening

    /// Connects, and with `tls` also makes sure that the server is who it should be.
    ///
    /// - Throws: What the system or TLS says; the server has got no request.
    static func open(to server: ServerAddress, tls: TLSContext?, timeout: Duration) async throws -> HTTPConnection {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let secured = loop.makePromise(of: Void.self)
        if tls == nil { secured.succeed() }
        let attempts = Mutex<[any Channel]>([])
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(.nanoseconds(Int64(min(timeout, .seconds(3600)) / .nanoseconds(1))))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                attempts.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        let session = try TLSSession(client: tls, host: server.host)
                        try channel.pipeline.syncOperations.addHandler(TLSHandler(session, secured: secured))
                    }
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(AnswerReader())
                }
            }
        return try await withTaskCancellationHandler {
            let channel: any Channel
            do {
                channel = try await bootstrap.connect(host: server.host, port: server.port).get()
            } catch {
                secured.fail(error)
                throw error
            }
            let connection = try await loop.submit {
                let reader = try channel.pipeline.syncOperations.handler(type: AnswerReader.self)
                return HTTPConnection(channel, NIOLoopBound(reader, eventLoop: loop))
            }.get()
            try await secured.futureResult.get()
            return connection
        } onCancel: {
            for channel in attempts.withLock({ $0 }) { channel.close(promise: nil) }
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
